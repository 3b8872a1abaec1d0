// npm run bench [-- --json] [--store memory] [--only functions] [--node <program>]: measures every figure of
// docs/performance.md. `--store memory` measures only what needs no database, and is the only way if dynoxide is not
// installed. `--only functions` measures only bundles and cold starts, the latter also on each other Node that `--node`
// names. Four are not part of the full run: `--only starts` measures starts beside others that take 20 s, `--only polls`
// simulates polling of many waits, `--only pushes` sends 200 pushes a second for a minute, `--only serving` measures the
// doors of served workflows. Sizes of `--only polls`, all
// modest by default: `--day 100000` waits over a virtual day, `--steady 1000000` waits for `--minutes 60` virtual
// minutes, and none by default of `--real 10000` waits of one process on dynoxide, which takes twelve minutes.

import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { bundleFigures } from './bundle-figures.js';
import { coldStartFigures } from './cold-start-figures.js';
import { countFigures } from './count-figures.js';
import { type Figure, isMet } from './figure.js';
import { largeRunFigures } from './large-run-figures.js';
import { readMachine, readVersions } from './machine.js';
import { formatReport, type Report } from './report.js';
import { openDatabase } from './stores.js';
import { modestSizes, pollingFigures, type PollingSizes } from './polling/polling-figures.js';
import { pushFigures } from './measure-pushes.js';
import { servingFigures } from './measure-serving.js';
import { patientStartFigures } from './measure-patient-starts.js';
import { requestsAtOnceFigures } from './measure-requests-at-once.js';
import { timeFigures } from './time-figures.js';

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    store: { type: 'string' },
    only: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
    ...{ day: { type: 'string' }, steady: { type: 'string' }, minutes: { type: 'string' }, real: { type: 'string' } },
  },
});
if (values.store !== undefined && values.store !== 'memory') throw new Error('--store takes "memory"');
const parts = ['functions', 'starts', 'polls', 'pushes', 'serving'];
if (values.only !== undefined && !parts.includes(values.only))
  throw new Error(`--only takes one of ${parts.join(', ')}`);
const sizes = {
  day: wholeNumber('day', modestSizes.day),
  steady: wholeNumber('steady', modestSizes.steady),
  minutes: wholeNumber('minutes', modestSizes.minutes),
  real: wholeNumber('real', modestSizes.real),
};
const withDatabase = values.store === undefined && values.only === undefined;

function wholeNumber(name: keyof PollingSizes, otherwise: number): number {
  const text = values[name];
  if (text === undefined) return otherwise;
  if (values.only !== 'polls') throw new Error(`--${name} is an option of --only polls`);
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} takes a whole number`);
  return Number(text);
}

async function measure(): Promise<Report> {
  const machine = readMachine();
  const measuredAt = new Date().toISOString();
  const progress = (text: string): boolean => process.stderr.write(`${text} …\n`);
  const database = withDatabase ? await openDatabase() : undefined;
  try {
    if (database !== undefined) progress('requests and capacity');
    const counts = database === undefined ? undefined : await countFigures(database);
    const figures = [
      ...(counts?.figures ?? []),
      ...(values.only === undefined ? await timeFigures(database, progress) : []),
      ...(values.only === undefined ? await largeRunFigures(database, progress) : []),
      ...(values.only === undefined ? await requestsAtOnceFigures() : []),
      ...(await partFigures(progress)),
    ];
    return {
      measuredAt,
      machine,
      versions: readVersions(database?.version),
      figures: figures.map((figure) => {
        const met = isMet(figure);
        return met === undefined ? figure : { ...figure, met };
      }),
      writesByMethod: counts?.writesByMethod ?? {},
    };
  } finally {
    await database?.close();
  }
}

async function partFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  if (values.only === 'starts') return patientStartFigures(progress);
  if (values.only === 'pushes') return pushFigures(progress);
  if (values.only === 'serving') return servingFigures(progress);
  return values.only === 'polls' ? pollingFigures(sizes, progress) : functionFigures(progress);
}

async function functionFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  return [
    ...(await bundleFigures()),
    ...(await coldStartFigures(process.execPath, process.versions.node, progress)),
    ...(await otherColdStarts(values.node, progress)),
  ];
}

async function otherColdStarts(
  programs: readonly string[],
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const node of programs) {
    const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
    figures.push(...(await coldStartFigures(node, version, progress)));
  }
  return figures;
}

const report = await measure();
console.log(values.json ? JSON.stringify(report, undefined, 2) : formatReport(report));

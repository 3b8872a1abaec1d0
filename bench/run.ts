// npm run bench [-- --json] [--store memory]: every figure of docs/performance.md, measured here and now. Nothing that
// needs the database is measured with `--store memory`; where dynoxide is not installed there is no other way.

import { parseArgs } from 'node:util';
import { bundleFigures } from './bundle-figures.js';
import { countFigures } from './count-figures.js';
import { isMet } from './figure.js';
import { largeRunFigures } from './large-run-figures.js';
import { readMachine, readVersions } from './machine.js';
import { formatReport, type Report } from './report.js';
import { openDatabase } from './stores.js';
import { timeFigures } from './time-figures.js';

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, store: { type: 'string' } } });
if (values.store !== undefined && values.store !== 'memory') throw new Error('--store takes "memory"');

async function measure(): Promise<Report> {
  const machine = readMachine();
  const measuredAt = new Date().toISOString();
  const progress = (text: string): boolean => process.stderr.write(`${text} …\n`);
  const database = values.store === 'memory' ? undefined : await openDatabase();
  try {
    if (database !== undefined) progress('requests and capacity');
    const counts = database === undefined ? undefined : await countFigures(database);
    const figures = [
      ...(counts?.figures ?? []),
      ...(await timeFigures(database, progress)),
      ...(await largeRunFigures(database, progress)),
      ...(await bundleFigures()),
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

const report = await measure();
console.log(values.json ? JSON.stringify(report, undefined, 2) : formatReport(report));

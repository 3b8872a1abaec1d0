// `npm run simulate -- --seeds 5000`: runs the simulator of combinations, for as long as you like, on two processes.
// `--help` lists its options. Without arguments it runs the tests of all simulators; `SIM_SEEDS` and `SIM_FIRST` choose their seeds.

import { fork, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printCase, shrink } from './shrink.js';
import { caseOf as plainCaseOf, runCase, servedCaseOf } from './simulate-case.js';

interface Outcome {
  readonly seed: number;
  readonly kinds: readonly (readonly [string, string])[];
  readonly ms: number;
}

const out = (text: string): void => void process.stdout.write(`${text}\n`);

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    shrink: { type: 'string' },
    budget: { type: 'string', default: '20' },
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    only: { type: 'string' },
    for: { type: 'string', default: '1e9' },
    workers: { type: 'string', default: '2' },
    show: { type: 'string' },
    trace: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    served: { type: 'boolean', default: false },
    worker: { type: 'boolean', default: false },
  },
});

const caseOf = values.served ? servedCaseOf : plainCaseOf;

const help = `npm run simulate: the tests of all simulators. SIM_SEEDS and SIM_FIRST choose their seeds.
npm run simulate -- <options>: the simulator of combinations. Exits with 1 if a seed breaks a promise.

  --seeds <n>      Number of seeds. Default: 200
  --first <seed>   First of them. Default: 1
  --for <s>        Begins no further seed after this many seconds. Default: no limit
  --served         Workflows are served, and have callers
  --workers <n>    Number of processes. Default: 2
  --only <kind>    Reports this kind of violation only
  --no-shrink      Does not reduce the first case of each kind
  --budget <s>     Seconds to reduce a case in. Default: 20
  --show <seed>    Prints the case of a seed and runs it
  --shrink <seed>  Reduces the case of a seed; --only names the kind of violation
  --trace          With --show and --shrink: prints what the processes do
  -h, --help       Prints this`;

if (process.argv.length === 2)
  process.exitCode = spawnSync('npx', ['vitest', 'run', 'test/simulation'], { stdio: 'inherit' }).status ?? 1;
else if (values.help) out(help);
else if (values.worker) await work();
else if (values.shrink !== undefined) await showSmaller(Number(values.shrink), values.only ?? '');
else if (values.show !== undefined) await show(Number(values.show));
else await lead();

/** Runs the seeds that it receives, and reports the violations of each. */
async function work(): Promise<void> {
  for await (const seed of messages()) {
    const beganMs = performance.now();
    let kinds: Outcome['kinds'];
    try {
      kinds = [...(await runCase(caseOf(seed))).violations];
    } catch (error) {
      kinds = [['simulator-fails', error instanceof Error ? (error.stack ?? error.message) : 'unknown']];
    }
    process.send?.({ seed, kinds, ms: performance.now() - beganMs } satisfies Outcome);
  }
}

async function* messages(): AsyncGenerator<number> {
  const waiting: number[] = [];
  let notify: (() => void) | undefined;
  process.on('message', (seed: number) => {
    waiting.push(seed);
    notify?.();
  });
  for (;;) {
    const seed = waiting.shift();
    if (seed === undefined)
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    else if (seed < 0) process.exit(0);
    else yield seed;
  }
}

async function lead(): Promise<void> {
  const first = Number(values.first);
  const end = first + Number(values.seeds);
  const beganMs = performance.now();
  const untilMs = beganMs + Number(values.for) * 1_000;
  const outcomes: Outcome[] = [];
  let next = first;
  const workers = Array.from({ length: Number(values.workers) }, () =>
    fork(fileURLToPath(import.meta.url), ['--worker', ...(values.served ? ['--served'] : [])], {
      execArgv: process.execArgv,
    }),
  );
  await Promise.all(
    workers.map(
      (worker) =>
        new Promise<void>((resolve, reject) => {
          let isDone = false;
          const give = (): void => {
            if (next < end && performance.now() < untilMs) worker.send(next++);
            else {
              isDone = true;
              worker.send(-1);
              resolve();
            }
          };
          worker.on('message', (outcome: Outcome) => {
            outcomes.push(outcome);
            give();
          });
          worker.on('exit', (code) => {
            if (!isDone) reject(new Error(`a worker ended with ${code ?? 'a signal'}`));
          });
          give();
        }),
    ),
  );
  outcomes.sort((a, b) => a.seed - b.seed);
  const tookS = (performance.now() - beganMs) / 1_000;
  const slowest = outcomes.reduce((worst, one) => (one.ms > worst.ms ? one : worst));
  out(
    `${outcomes.length} seeds from ${first} in ${tookS.toFixed(1)} s, ${(outcomes.length / tookS).toFixed(1)} a second; the slowest, ${slowest.seed}, took ${(slowest.ms / 1_000).toFixed(2)} s`,
  );
  const kinds = new Map<string, { first: number; detail: string; count: number; seeds: number[] }>();
  for (const { seed, kinds: broken } of outcomes)
    for (const [kind, detail] of broken) {
      if (values.only !== undefined && kind !== values.only) continue;
      const known = kinds.get(kind);
      if (known === undefined) kinds.set(kind, { first: seed, detail, count: 1, seeds: [seed] });
      else {
        known.count++;
        if (known.seeds.length < 8) known.seeds.push(seed);
      }
    }
  for (const [kind, { first: seed, detail, count, seeds }] of kinds)
    out(
      `${kind.padEnd(30)} first seed ${String(seed).padStart(6)}, ${String(count).padStart(5)} seeds: ${detail.slice(0, 150)} (${seeds.join(' ')})`,
    );
  if (!values['no-shrink']) for (const [kind, { first: seed }] of kinds) await showSmaller(seed, kind);
  process.exitCode = kinds.size === 0 ? 0 : 1;
}

async function showSmaller(seed: number, kind: string): Promise<void> {
  const shrunk = await shrink(caseOf(seed), kind, Number(values.budget) * 1_000);
  out(`\n--- ${kind}, after ${shrunk.tried} cases: ${shrunk.detail.slice(0, 300)}\n${printCase(shrunk.case)}`);
  if (!values.trace) return;
  const { world } = await runCase(shrunk.case);
  for (const line of world.trace) if (!line.includes('sweep')) out(line);
}

async function show(seed: number): Promise<void> {
  const given = caseOf(seed);
  out(printCase(given));
  const { world, violations } = await runCase(given);
  if (values.trace) for (const line of world.trace) if (!line.includes('sweep')) out(line);
  for (const [kind, detail] of violations) out(`${kind}: ${detail}`);
}

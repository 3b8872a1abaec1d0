// npm run soak [-- --scale 0.1] [--seed 2] [--limit <seconds>]: runs local mode as a separate process with 2,000 runs
// with remote waits, 5,000 signals, 1,000 children, pauses and cancels, and kills it together with its database three
// times with SIGKILL. Exits with 0 if every result is right and nothing is left; otherwise with 1 and a list of
// problems, and keeps the folder with the database and the log. Everything runs on loopback.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seeded } from '../../test/simulation/random.js';
import { checkList, checkRemotes, checkRuns, leftInDatabase } from './checks.js';
import { Client } from './client.js';
import { type Done, drive } from './drive.js';
import { Engine } from './engine.js';
import { makePlan, type Plan } from './plan.js';
import { startRemotes } from './remotes.js';

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    limit: { type: 'string', default: '600' },
  },
});
const scale = numberOf('scale', values.scale, 0.001, 100);
const seed = numberOf('seed', values.seed, 0, 2 ** 31);
const limitMs = numberOf('limit', values.limit, 10, 86_400) * 1_000;

const taskMaxMs = 8_000;
const lookMs = 1_000;
/** Interval of reading the list of all runs page by page, which also puts load on the engine. */
const listMs = 3_000;
const downMs = 500;
/** Time for a sweep, which runs each minute, and for the work that it starts. */
const sweepsMs = 150_000;
const problemsShown = 40;

const startedAtMs = Date.now();
const begun = performance.now();
const say = (line: string): void => {
  console.log(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
};

const random = seeded(seed);
const plan = makePlan(scale, random);
const folder = await mkdtemp(join(tmpdir(), 'outwait-soak-'));
const stop = new AbortController();
const remotes = await startRemotes({ taskMaxMs, random: seeded(seed + 1) });
const engine = new Engine(folder, remotes.env, (what) => {
  stop.abort(new Error(what));
});
process.once('exit', () => {
  engine.killAll();
});
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1));
const timer = setTimeout(() => {
  stop.abort(new Error(`not done within ${limitMs / 1_000} s`));
}, limitMs);

const done: Done = { starts: 0, signals: 0, pauses: 0, cancels: 0 };
const client = new Client(() => engine.url(), stop.signal);
/** A client of its own, which does not queue behind the requests of the other. */
const watcher = new Client(() => engine.url(), stop.signal);
let open = Infinity;
let ended = 0;

const problems = await Promise.race([soak(), aborted()]).catch((error: unknown) => [
  `stopped: ${error instanceof Error ? error.message : String(error)}; ${whatIsOpen()}`,
]);
clearTimeout(timer);
engine.killAll();
await remotes.close();
await report(problems);
if (problems.length === 0) await rm(folder, { recursive: true, force: true });
process.exit(problems.length === 0 ? 0 : 1);

async function soak(): Promise<string[]> {
  const { runs, signals, children, pauses, cancels } = plan;
  say(
    `${runs.length} runs with remote waits, ${signals} signals, ${children.completed + children.cancelled} children, ` +
      `${pauses} pauses, ${cancels} cancels; seed ${seed}, load ${loadavg()[0]?.toFixed(1) ?? '?'}`,
  );
  await engine.start();
  say('the engine is ready');
  const driving = Promise.all(runs.map((planned) => drive(planned, client, remotes.ledger, done)));
  driving.catch((error: unknown) => {
    stop.abort(error);
  });
  const watching = watch(driving.then(() => undefined));
  watching.catch((error: unknown) => {
    stop.abort(error);
  });
  await crashWhen('while runs start', () => done.starts >= runs.length * 0.3);
  await crashWhen('while signals come', () => done.signals >= signals * 0.4);
  await crashWhen('while runs end', () => ended >= (runs.length + children.completed + children.cancelled) * 0.5);
  const driven = await driving;
  await watching;
  const tookS = (Date.now() - startedAtMs) / 1_000;
  const all = runs.length + children.completed + children.cancelled;
  say(
    `all runs have ended: ${(all / tookS).toFixed(1)} runs a second, children among them, crashes and pauses included`,
  );

  const left = await quiet();
  const found = [
    ...(await checkRuns(driven, client, remotes.ledger)),
    ...(await checkList(plan, client)),
    ...checkDone(plan),
    ...checkRemotes(remotes),
    ...left,
    ...client.faults,
    ...watcher.faults,
  ];
  say('checked every run');
  return [...found, ...(await engine.stop())];
}

/**
 * Waits until nothing is due, no remote task works in vain, and a sweep finds nothing to do; returns what is left by
 * then.
 */
async function quiet(): Promise<string[]> {
  const untilMs = performance.now() + sweepsMs;
  let left: string[];
  do {
    const { problems: found, forLater } = await leftInDatabase(engine.databaseEndpoint ?? '', engine.crashesAtMs);
    left = [...found, ...checkRemotes(remotes)];
    if (left.length === 0) {
      if (forLater > 0) say(`${forLater} ended runs were killed before their last marker was removed; it is due later`);
      break;
    }
    await delay(lookMs);
  } while (performance.now() < untilMs);
  if (left.length > 0) return left;
  say('nothing is due, and no remote task works');
  let before = await client.functions();
  for (;;) {
    const after = await nextSweep();
    const busy = ['turn', 'poll', 'step'].filter((name) => after[name]?.invocations !== before[name]?.invocations);
    if (busy.length === 0) {
      say('a sweep found nothing to do');
      return [];
    }
    if (performance.now() > untilMs) return [`the functions ${busy.join(', ')} are still running, with nothing due`];
    before = after;
  }
}

/** Waits for the next sweep, and returns the counts shortly after it. */
async function nextSweep() {
  const before = (await client.functions())['schedule']?.invocations;
  while ((await client.functions())['schedule']?.invocations === before) await delay(lookMs);
  await delay(3 * lookMs);
  return client.functions();
}

async function crashWhen(moment: string, isTime: () => boolean): Promise<void> {
  // Random, so that each crash hits a different point of the work.
  const laterMs = random() * 1_000;
  while (!isTime()) {
    stop.signal.throwIfAborted();
    await delay(20);
  }
  await delay(laterMs);
  await engine.crash(moment);
  say(
    `kill -9 ${moment}: ${done.starts} starts, ${done.signals} signals, ${done.cancels} cancels accepted, ${ended} ended`,
  );
  await delay(downMs);
  await engine.start();
  say('the engine is ready again');
}

/** Follows the number of open runs until none is open and the driver is done. */
async function watch(driving: Promise<void>): Promise<void> {
  const driven = new AbortController();
  void driving.then(() => {
    driven.abort();
  });
  let said = 0;
  for (;;) {
    const wasDriven = driven.signal.aborted;
    const all = await watcher.list();
    open = all.filter(({ status }) => status === 'running' || status === 'ending').length;
    ended = all.length - open;
    if (wasDriven && open === 0) return;
    if (++said % 5 === 0) say(`${done.starts} starts, ${done.signals} signals accepted, ${ended} ended, ${open} open`);
    await delay(listMs);
  }
}

function checkDone({ runs, signals, pauses, cancels }: Plan): string[] {
  const planned: Done = { starts: runs.length, signals, pauses, cancels };
  return (Object.keys(planned) as (keyof Done)[]).flatMap((kind) =>
    done[kind] === planned[kind] ? [] : [`${done[kind]} ${kind} were accepted, not ${planned[kind]}`],
  );
}

function whatIsOpen(): string {
  const { starts, signals, pauses, cancels } = done;
  return `${open} runs open, ${ended} ended, ${starts} starts, ${signals} signals, ${pauses} pauses, ${cancels} cancels accepted`;
}

function aborted(): Promise<never> {
  return new Promise((_, reject) => {
    stop.signal.addEventListener('abort', () => {
      reject(stop.signal.reason as Error);
    });
  });
}

async function report(found: readonly string[]): Promise<void> {
  const MiB = (value: number | undefined): string => (value === undefined ? 'unknown' : `${value} MiB`);
  console.log('\nlife  ready    lived   engine, most  dynoxide, most  end');
  for (const life of engine.lives) {
    console.log(
      [
        String(life.number).padEnd(4),
        `${(life.readyMs / 1_000).toFixed(1)} s`.padStart(6),
        `${(life.livedMs / 1_000).toFixed(1)} s`.padStart(7),
        MiB(life.engineMiB).padStart(12),
        MiB(life.databaseMiB).padStart(14),
        life.end,
      ].join('  '),
    );
  }
  console.log(`\nremote tasks: ${JSON.stringify(remotes.created())}; repeated requests: ${client.repeats}`);
  const logged = await logCounts();
  if (logged.length > 0) console.log(`the engine's log has ${logged.join(', ')}`);
  console.log(`took ${((Date.now() - startedAtMs) / 1_000).toFixed(0)} s, load ${loadavg()[0]?.toFixed(1) ?? '?'}`);
  if (found.length === 0) {
    console.log('every result is right, and nothing is left running');
    return;
  }
  console.log(`\nwrong (${found.length}); database and log are in ${folder}:`);
  for (const problem of found.slice(0, problemsShown)) console.log(`* ${problem}`);
  if (found.length > problemsShown) console.log(`… and ${found.length - problemsShown} more`);
}

/** Counts the warnings and errors of the engine, by message. */
async function logCounts(): Promise<string[]> {
  const counts = new Map<string, number>();
  for (const line of (await readFile(engine.logFile, 'utf8').catch(() => '')).split('\n')) {
    if (!line.startsWith('{')) continue;
    const { level, event } = JSON.parse(line) as { level: string; event: string };
    const name = `${level} "${event}"`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 12)
    .map(([name, count]) => `${count} × ${name}`);
}

function numberOf(option: string, given: string, min: number, max: number): number {
  const value = Number(given);
  if (given.trim() !== '' && value >= min && value <= max) return value;
  console.error(`--${option} takes a number from ${min} to ${max}, not "${given}"`);
  process.exit(2);
}

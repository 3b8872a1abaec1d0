import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Children } from './demo/child.js';
import { crash, type DevEngine, freePort, startDevEngine } from './demo/engine.js';
import type { FunctionsStats } from './demo/engine-client.js';
import { EngineClient } from './demo/engine-client.js';
import { LiveView } from './demo/live-view.js';
import { runOnStage, type Stage } from './demo/on-stage.js';
import type { RunProgress } from './demo/run-progress.js';
import type { DemoRun } from './demo/verdict.js';
import { demoRuns, problemsOf } from './demo/verdict.js';
import type { RemoteStats } from './servers/remote-server.js';

// `npm run demo`: two workflows wait for tasks on two servers; while they wait, the engine and its database are killed
// with SIGKILL, stay down for a while, and come back. Exits with 0 if both workflows ended as expected and each server
// received exactly one request to start its task. `--store memory` uses the engine's own store in place of a database
// process.

/** Durations: of the remote tasks, and of the time for which the engine is down. */
const taskMs = 15_000;
const downMs = 3_000;
/** Pauses between the steps of the demo, so that there is something to see. */
const lookMs = 1_500;
const watchIntervalMs = 250;
/** Longest time from the last push to the end of the wait; a read by the clock would come a minute after the one before. */
const pushLagMaxMs = 5_000;
/** Timeouts of the steps. The demo as a whole stays under a minute. */
const untilWaitingMs = 15_000;
const untilEndedMs = 35_000;

const here = fileURLToPath(new URL('.', import.meta.url));

interface StartedRun extends DemoRun {
  readonly runId: string;
}

const { values } = parseArgs({ options: { store: { type: 'string' } } });
const children = new Children();
const view = new LiveView(process.stdout, () => Date.now());
const say = (text = ''): void => {
  view.say(text);
};

/** Runs the demo and returns what was wrong. */
async function demo({ folder, signal }: Stage): Promise<string[]> {
  const begunAtMs = Date.now();

  say('1. Two servers, each a process of its own, standing in for services that other companies run:');
  const [reports, supplier] = await Promise.all([startServer('mcp-server', signal), startServer('a2a-agent', signal)]);
  say(`   reports   an MCP server; its tool start_export answers with a task     ${reports}`);
  say(`   supplier  an A2A agent; its skill quote answers with a task            ${supplier}`);
  say('             It pushes news of the task to the engine, which then hardly asks.');
  say(`   Each task takes ${seconds(taskMs)}. In real life it would be hours or days.`);
  say();

  say('2. The engine, as "outwait dev" runs it on a laptop: the same functions as on AWS Lambda, and a database.');
  const env = { DEMO_MCP_URL: reports, DEMO_A2A_URL: supplier };
  const port = await freePort();
  const first = await startEngine(folder, port, env, signal);
  say(`   ${first.process.readyLine}`);
  say();

  say('3. Two workflows start. Each runs a step, asks its server for a task, and then waits for it.');
  const started: StartedRun[] = [];
  for (const run of demoRuns) started.push({ ...run, runId: await first.client.start(run.workflow, run.input) });
  await watch(first.client, started, (progress) => progress.isWaiting, untilWaitingMs, signal);
  await watch(first.client, started, undefined, lookMs, signal);
  const functionsBefore = await first.client.functions();
  view.freeze();
  say();

  say('4. While both wait: kill -9 to the engine and to its database. Nothing gets a chance to save anything.');
  say(`   killed: ${await crash(first, folder)}`);
  say(`   For ${seconds(downMs)} no part of the engine runs. The tasks on the servers continue.`);
  await delay(downMs, undefined, { signal });
  say();

  say('5. The engine starts again on the same folder, reads where each workflow stood, and asks the servers.');
  const second = await startEngine(folder, port, env, signal);
  const progress = await watch(second.client, started, (each) => each.hasEnded, untilEndedMs, signal);
  const functionsAfter = await second.client.functions();
  const waitedMs = await Promise.all(started.map(({ runId }) => second.client.waitedMs(runId)));
  view.freeze();
  say();

  const stats = { reports: await statsOf(reports), supplier: await statsOf(supplier) };
  say('Outcomes');
  for (const [index, { title }] of started.entries()) {
    const ended = progress[index];
    say(`   ${title}: ${ended?.state ?? ''} ${JSON.stringify(ended?.result)}`);
  }
  say();
  say('What the servers saw           reports   supplier');
  for (const [label, count] of [
    ['calls to start a task', (server: RemoteStats) => server.startCalls.length],
    ['tasks', (server: RemoteStats) => server.tasks],
    ['reads of a task', (server: RemoteStats) => server.reads],
  ] as const) {
    const counts = [stats.reports, stats.supplier].map((server) => String(count(server)).padStart(10));
    say(`   ${label.padEnd(24)}${counts.join('')}`);
  }
  say();
  const push = await pushShown(second.client, started, stats.supplier);
  say('The push');
  say(`   pushes that the supplier sent        ${push.count}`);
  say(`   from the last one to the wait's end  ${push.lagMs === undefined ? 'unknown' : seconds(push.lagMs)}`);
  say('   next read without it                 up to a minute later');
  say();
  say('Time');
  say(`   the two workflows waited, together   ${seconds(waitedMs.reduce((sum, each) => sum + each, 0))}`);
  say(`   functions ran for them               ${functionTime(functionsBefore, functionsAfter)}`);
  say(`   the whole demo                       ${seconds(Date.now() - begunAtMs)}`);
  say();
  say(`On ${platform()} ${arch()}, Node ${process.version}, store: ${first.store}`);
  return [...problemsOf(progress, stats), ...push.problems];
}

/** Returns what the pushes of the supplier did: the last one says that the quote is there, and ends the wait. */
async function pushShown(client: EngineClient, started: readonly StartedRun[], { pushedAtMs = [] }: RemoteStats) {
  const runId = started.find(({ server }) => server === 'supplier')?.runId ?? '';
  const endedAtMs = await client.taskEndedAtMs(runId);
  const lastAtMs = pushedAtMs.at(-1);
  const lagMs = lastAtMs === undefined || endedAtMs === undefined ? undefined : endedAtMs - lastAtMs;
  const isByPush = lagMs !== undefined && lagMs < pushLagMaxMs;
  return {
    count: pushedAtMs.length,
    lagMs,
    problems: isByPush ? [] : ['the push of the supplier did not end the wait'],
  };
}

async function startServer(name: string, signal: AbortSignal): Promise<string> {
  const args = ['--import', 'tsx', join(here, 'servers', `${name}.ts`), '--task-ms', String(taskMs), '--with-parent'];
  if (name === 'a2a-agent') args.push('--push');
  const { readyLine } = await children.start(name, { args, ready: / ready at http/ }, signal);
  return readyLine.slice(readyLine.indexOf('http'));
}

interface Engine extends DevEngine {
  readonly client: EngineClient;
}

async function startEngine(
  folder: string,
  port: number,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Engine> {
  const config = join(here, 'outwait.config.ts');
  const engine = await startDevEngine(children, { config, folder, port, store: values.store, env }, signal);
  return { ...engine, client: new EngineClient(engine.url) };
}

/** Shows the runs until each of them is in the expected state, or for `forMs` if there is none. */
async function watch(
  client: EngineClient,
  started: readonly StartedRun[],
  isReached: ((progress: RunProgress) => boolean) | undefined,
  forMs: number,
  signal: AbortSignal,
): Promise<readonly RunProgress[]> {
  const untilMs = Date.now() + forMs;
  for (;;) {
    const progress = await Promise.all(started.map(({ runId }) => client.progress(runId)));
    view.show(progress.map((each, index) => ({ name: started[index]?.title ?? '', ...each })));
    if (isReached !== undefined && progress.every(isReached)) return progress;
    if (Date.now() > untilMs) {
      if (isReached === undefined) return progress;
      throw new Error(`the workflows did not reach the expected state within ${seconds(forMs)}`);
    }
    await delay(watchIntervalMs, undefined, { signal });
  }
}

async function statsOf(url: string): Promise<RemoteStats> {
  const response = await fetch(new URL('/stats', url));
  return (await response.json()) as RemoteStats;
}

/**
 * Sums the function times of both lives of the engine; the figures of the first were read just before it was killed.
 */
function functionTime(...lives: readonly FunctionsStats[]): string {
  const all = lives.flatMap(({ turn, poll, schedule }) => [turn, poll, schedule]);
  const busyMs = all.reduce((sum, each) => sum + each.busyMs, 0);
  const invocations = all.reduce((sum, each) => sum + each.invocations, 0);
  return `${seconds(busyMs)}, in ${invocations} invocations (turns, reads, sweeps)`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms % 1000 === 0 ? 0 : 2)} s`;
}

await runOnStage(
  async (stage) => {
    const problems = await demo(stage);
    view.freeze();
    return problems;
  },
  {
    children,
    say,
    worked: 'It worked: the engine died in the middle, nothing was lost, and nothing was requested twice.',
  },
);

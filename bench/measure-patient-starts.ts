import { setTimeout as delay } from 'node:timers/promises';
import { silentLog } from '../lib/base/log.js';
import { startLocalEngine } from '../lib/local/engine.js';
import { MemoryTable } from '../lib/store/memory/memory-table.js';
import { TokenKeys } from '../lib/tokens/token-keys.js';
import { a2aAgent, defineApp } from '../lib/workflow/app.js';
import { defineWorkflow } from '../lib/workflow/define-workflow.js';
import { figure, medianFigure, type Figure } from './figure.js';
import { nowMs } from './starts/messages.js';
import { OutsideProcess } from './starts/outside-process.js';
import { percentile } from './statistics.js';

const runsOfEach = 200;
/**
 * Milliseconds between the starts of the other runs, so that this measures a run and not the throughput of the machine.
 */
const eachMs = 20;
/**
 * Runs that are made before the measured ones and not counted. They take the first collections of garbage, which copy
 * what the patient starts before them have allocated: a cost of their arrival, not of their waiting.
 */
const unmeasuredRuns = 60;
/** Time that the patient starts have to end before their engine is stopped. */
const endMs = 1_000;
const rounds = 10;

/**
 * Kind of agent. `task` replies with a working task and so is known to be prompt: turns make its starts. `answer`
 * replies with its ended task: workers make them.
 */
type Prompt = 'task' | 'answer';
const prompts = ['task', 'answer'] as const;

interface Half {
  /**
   * For each of the other runs, milliseconds from the request for it until its call reaches the agent (`task`) or the
   * workflow continues (`answer`).
   */
  readonly runMs: readonly number[];
  /** Processor time of the engine's process while they ran, per run. */
  readonly cpuMs: number;
  /** Patient starts without an answer before the first and after the last of the other runs. */
  readonly patient: { readonly first: number; readonly last: number };
  /** Mean duration of a turn. */
  readonly turnMs: number;
}

/** What is not the engine: each a separate process, with agents at its own address. */
interface Outside {
  /** The prompt agents, and the client that starts their runs. */
  readonly prompt: OutsideProcess;
  /** The patient agent, and the client that starts its runs. */
  readonly patient: OutsideProcess;
}

/** Opens local mode as it is on a laptop, on a table in memory, in this process, which does nothing else. */
async function open(outside: Outside) {
  let wentOn: (key: string) => void = () => undefined;
  const calls = defineWorkflow<{ server: string; key: string }>({
    name: 'calls',
    run: async (ctx, { server, key }) => {
      await ctx.callRemoteTask({ server, message: { parts: [{ text: key }] } });
      wentOn(key);
    },
  });
  const engine = await startLocalEngine({
    app: defineApp({
      workflows: [calls],
      servers: {
        task: a2aAgent({ url: `${outside.prompt.origin}/task` }),
        answer: a2aAgent({ url: `${outside.prompt.origin}/answer` }),
        patient: a2aAgent({ url: `${outside.patient.origin}/patient` }),
      },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  return { engine, onAnswer: (listener: typeof wentOn) => (wentOn = listener) };
}

/** Measures the others, alone or beside runs whose starts have all reached their agent and are not answered. */
async function measure(outside: Outside, prompt: Prompt, beside: boolean): Promise<Half> {
  const { engine, onAnswer } = await open(outside);
  try {
    const run = { engine: engine.url, server: prompt, eachMs };
    // The engine learns the pace of an agent from its first start.
    await outside.prompt.start({ ...run, count: 20, name: 'warm' });
    const turnsBefore = engine.stats().turn;
    if (beside) {
      const patient = { engine: engine.url, server: 'patient', count: runsOfEach, name: 'patient' };
      await outside.patient.start(patient);
    }
    await outside.prompt.start({ ...run, count: unmeasuredRuns, name: 'unmeasured' });
    const first = await outside.patient.waiting();
    const cpuBefore = process.cpuUsage();
    const ended = collect(onAnswer, prompt === 'answer' ? runsOfEach : 0);
    const runs = await outside.prompt.start({ ...run, count: runsOfEach, name: 'run' });
    const endedAtMs = await ended;
    const { user, system } = process.cpuUsage(cpuBefore);
    const turns = engine.stats().turn;
    return {
      runMs: runs.map(({ key, begunAtMs, calledAtMs }) => (endedAtMs.get(key) ?? calledAtMs) - begunAtMs),
      cpuMs: (user + system) / 1_000 / runsOfEach,
      patient: { first, last: await outside.patient.waiting() },
      turnMs: (turns.busyMs - turnsBefore.busyMs) / (turns.invocations - turnsBefore.invocations),
    };
  } finally {
    // Otherwise the starts end beside the next measurement.
    outside.patient.release();
    await delay(endMs);
    await engine.stop();
  }
}

/** Returns when each of the next `count` workflows to continue did so. */
function collect(
  onAnswer: (listener: (key: string) => void) => void,
  count: number,
): Promise<ReadonlyMap<string, number>> {
  const endedAtMs = new Map<string, number>();
  return new Promise((resolve) => {
    if (count === 0) resolve(endedAtMs);
    onAnswer((key) => {
      if (count === 0) return;
      endedAtMs.set(key, nowMs());
      if (endedAtMs.size === count) resolve(endedAtMs);
    });
  });
}

/**
 * Returns percentiles over the runs of all rounds together: the p99 of 200 runs is the third slowest of them, which one
 * pause of the machine decides. Every second round begins with the measurement beside patient starts, so that a drift
 * of the machine affects both. The first round only warms the code up.
 */
export async function patientStartFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  const outside = { prompt: await OutsideProcess.open(), patient: await OutsideProcess.open() };
  try {
    const figures: Figure[] = [];
    for (const prompt of prompts) {
      const alone: Half[] = [];
      const beside: Half[] = [];
      for (let round = 0; round <= rounds; round++) {
        progress(`starts beside patient ones: ${prompt}, round ${round} of ${rounds}`);
        const halves = [false, true];
        for (const isBeside of round % 2 === 0 ? halves.reverse() : halves) {
          const half = await measure(outside, prompt, isBeside);
          if (round > 0) (isBeside ? beside : alone).push(half);
        }
      }
      figures.push(...figuresOf(prompt, alone, beside));
    }
    return figures;
  } finally {
    outside.prompt.close();
    outside.patient.close();
  }
}

function figuresOf(prompt: Prompt, alone: readonly Half[], beside: readonly Half[]): readonly Figure[] {
  const name = `patientStarts.${prompt}`;
  const percentiles = [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const;
  const halves = [
    ['alone', alone],
    ['beside', beside],
  ] as const;
  return [
    ...percentiles.flatMap(([label, share]) => {
      const [aloneMs, besideMs] = [alone, beside].map((half) =>
        percentile(
          half.flatMap(({ runMs }) => runMs),
          share,
        ),
      ) as [number, number];
      const aim = label === 'p99' ? { atMost: 1.1 } : undefined;
      return [
        figure(`${name}.alone.${label}`, aloneMs, 'ms'),
        figure(`${name}.beside.${label}`, besideMs, 'ms'),
        figure(`${name}.${label}.ratio`, besideMs / aloneMs, 'times alone', aim),
      ];
    }),
    ...halves.flatMap(([label, half]) => [
      medianFigure(
        `${name}.${label}.processor`,
        half.map(({ cpuMs }) => cpuMs),
        'ms per run',
      ),
      medianFigure(
        `${name}.${label}.turn`,
        half.map(({ turnMs }) => turnMs),
        'ms per turn',
      ),
    ]),
    figure(`${name}.underWay.atFirst`, Math.min(...beside.map(({ patient }) => patient.first)), 'patient starts'),
    figure(`${name}.underWay.atLast`, Math.min(...beside.map(({ patient }) => patient.last)), 'patient starts'),
  ];
}

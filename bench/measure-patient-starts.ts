import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLog } from '../lib/base/log.js';
import { startLocalEngine } from '../lib/local/engine.js';
import { MemoryTable } from '../lib/store/memory/memory-table.js';
import { TokenKeys } from '../lib/tokens/token-keys.js';
import { a2aAgent, defineApp } from '../lib/workflow/app.js';
import { defineWorkflow } from '../lib/workflow/define-workflow.js';
import { figure, medianFigure, type Figure } from './figure.js';
import { percentile } from './statistics.js';

const runsOfEach = 200;
/**
 * Milliseconds between the starts of the other runs, so that this measures a run and not the throughput of the machine.
 */
const eachMs = 20;
const patientMs = 20_000;
/** Time that the patient starts have to reach their agent before the others begin. */
const headStartMs = 3_000;
const rounds = 10;

/**
 * Kind of agent. `task` replies with a working task and so is known to be prompt: turns make its starts. `answer`
 * replies with its ended task: workers make them.
 */
type Prompt = 'task' | 'answer';
const prompts = ['task', 'answer'] as const;

interface Latencies {
  /** Milliseconds from the request that starts a run until its call reaches the agent. */
  readonly startsMs: readonly number[];
  /** Milliseconds from the agent's answer until the workflow continues. */
  readonly endsMs: readonly number[];
  /** Patient starts without an answer when the first and the last of the other runs were measured. */
  readonly patient: { readonly first: number; readonly last: number };
  /** Mean duration of a turn. */
  readonly turnMs: number;
}

/**
 * Opens local mode as it is on a laptop, on a table in memory, with agents in this process that it calls over loopback.
 */
async function open() {
  let atAgent: (key: string) => void = () => undefined;
  let wentOn: (key: string) => void = () => undefined;
  let patient = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text) as Rpc;
      const key = params.message?.parts[0]?.text ?? '';
      const ended = {
        id: params.id ?? `t-${key}`,
        contextId: 'c',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts,
      };
      if (method !== 'SendMessage') {
        reply(response, id, ended);
        return;
      }
      if (request.url === '/patient') {
        patient++;
        setTimeout(() => {
          patient--;
          reply(response, id, { task: ended });
        }, patientMs);
        return;
      }
      atAgent(key);
      const working = { id: `t-${key}`, contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
      reply(response, id, { task: request.url === '/task' ? working : ended });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const calls = defineWorkflow<{ server: string; key: string }>({
    name: 'calls',
    run: async (ctx, { server: name, key }) => {
      await ctx.callRemoteTask({ server: name, message: { parts: [{ text: key }] } });
      wentOn(key);
    },
  });
  const servers = Object.fromEntries(
    [...prompts, 'patient'].map((name) => [name, a2aAgent({ url: `${origin}/${name}` })]),
  );
  const engine = await startLocalEngine({
    app: defineApp({ workflows: [calls], servers }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  return {
    engine,
    patient: () => patient,
    onCall: (listener: typeof atAgent) => (atAgent = listener),
    onAnswer: (listener: typeof wentOn) => (wentOn = listener),
    start: async (name: string, key: string) => {
      const body = JSON.stringify({ workflow: 'calls', input: { server: name, key } });
      const response = await fetch(`${engine.url}/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      if (!response.ok) throw new Error(`the run was not started: ${response.status}`);
      await response.arrayBuffer();
    },
    close: async () => {
      await engine.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Rpc {
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
}

const artifacts = [{ artifactId: 'r', parts: [{ text: 'three rows' }] }];

function reply(response: ServerResponse, id: string, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

/** Measures the others, alone or beside runs whose starts are answered after 20 s and are all in progress by then. */
async function measure(prompt: Prompt, beside: boolean): Promise<Latencies> {
  const local = await open();
  try {
    // The engine learns the pace of an agent from its first start.
    await calledBy(local, prompt, 20, 'warm');
    const before = local.engine.stats().turn;
    if (beside) {
      for (let at = 0; at < runsOfEach; at++) await local.start('patient', `patient-${at}`);
      await delay(headStartMs);
    }
    const first = local.patient();
    const { startsMs, endsMs } = await calledBy(local, prompt, runsOfEach, 'run');
    const after = local.engine.stats().turn;
    const turnMs = (after.busyMs - before.busyMs) / (after.invocations - before.invocations);
    return { startsMs, endsMs, patient: { first, last: local.patient() }, turnMs };
  } finally {
    await local.close();
  }
}

async function calledBy(local: Awaited<ReturnType<typeof open>>, prompt: Prompt, count: number, name: string) {
  const begunAtMs = new Map<string, number>();
  const startsMs: number[] = [];
  const endsMs: number[] = [];
  await new Promise<void>((resolve, reject) => {
    const isDone = (): boolean => startsMs.length === count && (prompt === 'task' || endsMs.length === count);
    const note = (into: number[]) => (key: string) => {
      const begun = begunAtMs.get(key);
      if (begun !== undefined) into.push(performance.now() - begun);
      if (isDone()) resolve();
    };
    local.onCall(note(startsMs));
    local.onAnswer(note(endsMs));
    void (async () => {
      for (let at = 0; at < count; at++) {
        const key = `${name}-${at}`;
        begunAtMs.set(key, performance.now());
        local.start(prompt, key).catch(reject);
        await delay(eachMs);
      }
    })();
  });
  return { startsMs, endsMs };
}

/**
 * Returns percentiles over the runs of all rounds together: the p99 of 200 runs is the third slowest of them, which one
 * pause of the machine decides. Every second round begins with the measurement beside patient starts, so that a drift
 * of the machine affects both.
 */
export async function patientStartFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const prompt of prompts) {
    const alone: Latencies[] = [];
    const beside: Latencies[] = [];
    for (let round = 1; round <= rounds; round++) {
      progress(`starts beside patient ones: ${prompt}, round ${round} of ${rounds}`);
      const halves = [false, true];
      for (const isBeside of round % 2 === 0 ? halves.reverse() : halves) {
        (isBeside ? beside : alone).push(await measure(prompt, isBeside));
      }
    }
    figures.push(...figuresOf(prompt, alone, beside));
  }
  return figures;
}

function figuresOf(prompt: Prompt, alone: readonly Latencies[], beside: readonly Latencies[]): readonly Figure[] {
  const name = `patientStarts.${prompt}`;
  const timesOf = (half: readonly Latencies[]) =>
    half.flatMap(({ startsMs, endsMs }) => (prompt === 'task' ? startsMs : endsMs));
  const percentiles = [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const;
  return [
    ...percentiles.flatMap(([label, share]) => {
      const aloneMs = percentile(timesOf(alone), share);
      const besideMs = percentile(timesOf(beside), share);
      const aim = label === 'p99' ? { atMost: 1.1 } : undefined;
      return [
        figure(`${name}.alone.${label}`, aloneMs, 'ms'),
        figure(`${name}.beside.${label}`, besideMs, 'ms'),
        figure(`${name}.${label}.ratio`, besideMs / aloneMs, 'times alone', aim),
      ];
    }),
    medianFigure(
      `${name}.alone.turn`,
      alone.map(({ turnMs }) => turnMs),
      'ms per turn',
    ),
    medianFigure(
      `${name}.beside.turn`,
      beside.map(({ turnMs }) => turnMs),
      'ms per turn',
    ),
    figure(`${name}.underWay.atFirst`, Math.min(...beside.map(({ patient }) => patient.first)), 'patient starts'),
    figure(`${name}.underWay.atLast`, Math.min(...beside.map(({ patient }) => patient.last)), 'patient starts'),
  ];
}

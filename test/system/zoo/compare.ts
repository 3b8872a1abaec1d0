// Plays the scenes of the zoo against a real server, and compares its answers with the recording; or records them
// again. Not part of CI, which has no foreign code.
//
//   npm run zoo -- <name> <url> [--record <version> [scene,scene…]]
//   npm run zoo -- <name> <url> --record-streams <version> [scene,scene…]    only starts over a stream; the rest stays
//
// The README beside this file says how the real server has to behave.

import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { JsonValue } from '../../../lib/base/json.js';
import { silentLog } from '../../../lib/base/log.js';
import { preferredInterface, readAgentCard } from '../../../lib/remote/a2a/agent-card.js';
import { GuardedHttpClient, type HttpClient } from '../../../lib/remote/http/http.js';
import type { TransportDeps } from '../../../lib/remote/endpoint/transport-deps.js';
import { lookAt } from '../../../lib/remote/try/look.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import type { RemoteRequest } from '../../../lib/remote/transport.js';
import { a2aAgent, mcpServer, type ServerConfig } from '../../../lib/workflow/app.js';
import { play } from './play.js';
import {
  clientIds,
  operationOf,
  parsed,
  recordingClient,
  withoutStreams,
  type RecordedExchange,
  type RecordedScene,
  type Recording,
} from './recording.js';

const readEachMs = 1_000;
const readsMax = 8;

interface Scene {
  readonly request: RemoteRequest;
  readonly cancels?: true;
  readonly finds?: true;
  readonly answers?: string;
}

const message = (text: string): RemoteRequest => ({ kind: 'message', parts: [{ text }] });
const tool = (name: string): RemoteRequest => ({ kind: 'tool', tool: name, arguments: {} });

const agentScenes: Readonly<Record<string, Scene>> = {
  quick: { request: message('quick') },
  slow: { request: message('slow') },
  cancel: { request: message('cancel'), cancels: true },
  fail: { request: message('fail') },
  message: { request: message('message') },
  'message-task': { request: message('message-task') },
  history: { request: message('history') },
  crash: { request: message('crash') },
  'late-crash': { request: message('late-crash') },
  ask: { request: message('ask'), answers: 'slow' },
  find: { request: message('cancel find'), cancels: true, finds: true },
};

const toolScenes: Readonly<Record<string, Scene>> = {
  quick: { request: tool('quick') },
  fail: { request: tool('fail') },
  slow: { request: tool('slow') },
  cancel: { request: tool('cancel'), cancels: true },
  'late-fail': { request: tool('late-fail') },
};

async function main([name = '', url = '', flag, version = '', chosen]: readonly string[]): Promise<number> {
  const file = fileURLToPath(new URL(`recordings/${name}.json`, import.meta.url));
  const records = flag === '--record' || flag === '--record-streams';
  if (!/^[a-z0-9.-]+$/.test(name) || !URL.canParse(url) || !(records || existsSync(file))) {
    process.stderr.write(
      'usage: compare.ts <name of a recording> <url> [--record|--record-streams <version> [scene,scene…]]\n',
    );
    return 2;
  }
  const entry = name.startsWith('a2a') ? a2aAgent({ card: url }) : mcpServer({ url });
  const look = await recordLook(entry);
  if (records) {
    const all = Object.entries(name.startsWith('a2a') ? agentScenes : toolScenes);
    const wanted = all.filter(([scene]) => chosen === undefined || chosen.split(',').includes(scene));
    const before = existsSync(file) ? await readRecording(file) : undefined;
    const playable = Object.fromEntries(wanted);
    if (flag === '--record-streams' && before?.version !== version)
      throw new Error(`the recording is of ${before?.version ?? 'no version'}`);
    const recorded = flag === '--record' ? await recordAll(entry, playable, 'plain') : {};
    const overStream = startsOverStream(look) ? await recordAll(entry, playable, 'over stream') : undefined;
    const recordedOn = new Date().toISOString().slice(0, 10);
    const streams = flag === '--record' ? await recordStream(look) : before?.streams;
    const recording: Recording = {
      server: name,
      version,
      recordedOn,
      origin: new URL(url).origin,
      // Scenes that were not chosen stay, if they are of the same version.
      scenes: before?.version === version ? { ...before.scenes, ...recorded } : recorded,
      look: flag === '--record' ? look : (before?.look ?? look),
      ...(streams === undefined ? {} : { streams }),
      ...(overStream === undefined ? {} : { overStream }),
    };
    await writeFile(file, `${JSON.stringify(recording, null, 2)}\n`);
    return 0;
  }
  const recording = await readRecording(file);
  const fresh = await recordAll(entry, recording.scenes, 'plain');
  const streamed = recording.overStream ?? {};
  const freshStreamed = await recordAll(entry, streamed, 'over stream');
  const differences: string[] = [
    ...Object.entries(recording.scenes).flatMap(([scene, { exchanges }]) =>
      differencesOf(exchanges, fresh[scene]?.exchanges ?? []).map((difference) => `${scene}: ${difference}`),
    ),
    ...Object.entries(streamed).flatMap(([scene, { exchanges }]) =>
      differencesOf(exchanges, freshStreamed[scene]?.exchanges ?? []).map(
        (difference) => `${scene} over a stream: ${difference}`,
      ),
    ),
  ];
  differences.push(...differencesOf(recording.look, look).map((difference) => `look: ${difference}`));
  for (const difference of differences) write(difference);
  write(
    `${Object.keys(recording.scenes).length} scenes, ${Object.keys(streamed).length} over a stream, ${differences.length} differences`,
  );
  return differences.length === 0 ? 0 : 1;
}

async function readRecording(file: string): Promise<Recording> {
  return JSON.parse(await readFile(file, 'utf8')) as Recording;
}

const clock = { nowMs: () => Date.now() };

function depsWith(http: HttpClient): TransportDeps {
  return {
    http,
    clock,
    random: { hex: (bytes) => randomBytes(bytes).toString('hex'), fraction: () => Math.random() },
    readSecret: () => undefined,
    log: silentLog,
  };
}

async function recordLook(entry: ServerConfig): Promise<readonly RecordedExchange[]> {
  const exchanges: RecordedExchange[] = [];
  const http = new GuardedHttpClient({ allowLoopback: true });
  await lookAt('zoo', entry, depsWith(recordingClient(http, exchanges, clock.nowMs)));
  await http.close();
  return exchanges;
}

/** Starts `slow` over a stream and reads it to its end. Returns undefined if the agent says that it has no streams. */
async function recordStream(look: readonly RecordedExchange[]): Promise<readonly RecordedExchange[] | undefined> {
  const card = readAgentCard(parsed(look[0]?.reply?.body ?? ''), { hosts: 'any', httpsOnly: false });
  const to = preferredInterface(card?.interfaces ?? []);
  if (to === undefined || card?.streams !== true) return undefined;
  const isOld = to.wire === '0.3';
  const part = isOld ? { kind: 'text', text: 'slow' } : { text: 'slow' };
  const message = { messageId: randomUUID(), role: isOld ? 'user' : 'ROLE_USER', parts: [part] };
  const params = { message: isOld ? { kind: 'message', ...message } : message };
  const isRest = to.binding === 'HTTP+JSON';
  const rpc = { jsonrpc: '2.0', id: randomUUID(), method: isOld ? 'message/stream' : 'SendStreamingMessage', params };
  const exchanges: RecordedExchange[] = [];
  const http = new GuardedHttpClient({ allowLoopback: true });
  await recordingClient(http, exchanges, clock.nowMs).send({
    url: isRest ? `${to.url}/message:stream` : to.url,
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(isOld ? {} : { 'a2a-version': '1.0' }),
    },
    body: JSON.stringify(isRest ? params : rpc),
  });
  await http.close();
  return exchanges;
}

/** Returns whether the card says that the agent streams, as the client decides it. */
function startsOverStream(look: readonly RecordedExchange[]): boolean {
  return (
    readAgentCard(parsed(look[0]?.reply?.body ?? ''), { hosts: 'any', httpsOnly: false })?.startsOverStream === true
  );
}

async function recordAll(
  entry: ServerConfig,
  scenes: Readonly<Record<string, Scene>>,
  starts: 'plain' | 'over stream',
) {
  const recorded: Record<string, RecordedScene> = {};
  for (const [name, { request, cancels, finds, answers }] of Object.entries(scenes)) {
    const exchanges: RecordedExchange[] = [];
    const http = new GuardedHttpClient({ allowLoopback: true });
    // Each scene has its own client, so that each includes the requests that come before a start.
    const recorder = recordingClient(http, exchanges, clock.nowMs);
    const deps = depsWith(starts === 'plain' ? withoutStreams(recorder) : recorder);
    const transport = createTransports(
      { zoo: finds === true && entry.protocol === 'a2a' ? { ...entry, probeByContext: true } : entry },
      deps,
    ).get('zoo');
    const key = randomBytes(16).toString('hex');
    const { start, reads, cancel } = await play(transport, request, {
      cancels: cancels ?? false,
      finds: finds ?? false,
      ...(answers === undefined ? {} : { answers }),
      pauseMs: readEachMs,
      readsMax,
      key,
    });
    await http.close();
    const last = reads.at(-1);
    write(
      `${name}, ${starts}: ${start.kind}, ${reads.length} reads, ${last === undefined ? '' : last.kind} ${cancel?.kind ?? ''}`,
    );
    recorded[name] = {
      request,
      ...(cancels === undefined ? {} : { cancels }),
      ...(finds === undefined ? {} : { finds, key }),
      ...(answers === undefined ? {} : { answers }),
      // Before an answer the task is read once more, with the same reply.
      exchanges:
        answers === undefined
          ? exchanges.filter((exchange, index) => !saysTheSame(exchange, exchanges[index - 1]))
          : exchanges,
    };
  }
  return recorded;
}

/** Returns whether two reads in a row were answered alike: one of them is enough, since the last one repeats. */
function saysTheSame(exchange: RecordedExchange, before: RecordedExchange | undefined): boolean {
  const said = ({ request, reply }: RecordedExchange): string =>
    clientIds(request.body).reduce(
      (text, id) => (id === '' ? text : text.replaceAll(id, '')),
      `${operationOf(request)} ${reply?.status} ${reply?.body}`,
    );
  return before !== undefined && said(exchange) === said(before);
}

/** Returns how one scene differs from its recording: order, status, media type, keys. */
function differencesOf(recorded: readonly RecordedExchange[], fresh: readonly RecordedExchange[]): readonly string[] {
  const [before, now] = [stepsOf(recorded), stepsOf(fresh)];
  const order = [before, now].map((steps) => [...steps.keys()].join(', '));
  if (order[0] !== order[1]) return [`order: ${order[0]} became ${order[1]}`];
  return [...before].flatMap(([step, was]) => {
    const is = now.get(step) ?? '';
    return was === is ? [] : [`${step}: ${was} became ${is}`];
  });
}

/** Returns how each operation was answered, in the order of the first request of each; of equal reads only one. */
function stepsOf(exchanges: readonly RecordedExchange[]): ReadonlyMap<string, string> {
  const steps = new Map<string, string>();
  for (const { request, reply } of exchanges) {
    const operation = operationOf(request);
    const type = reply?.headers['content-type'] ?? 'no media type';
    const said = reply === undefined ? 'no answer' : `${reply.status} ${type} ${shapeOf(reply.body)}`;
    const before = steps.get(operation);
    if (before?.endsWith(said) !== true) steps.set(operation, before === undefined ? said : `${before}; then ${said}`);
  }
  return steps;
}

/** Reduces a body to keys and states, without its values. */
function shapeOf(body: string): string {
  const json = /^(?:event|id|data|retry|:)/m.test(body) ? (/^data: ?(\{.*)$/m.exec(body)?.[1] ?? '') : body;
  try {
    return keysOf(JSON.parse(json) as JsonValue);
  } catch {
    return body === '' ? 'empty' : 'no JSON';
  }
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

function keysOf(value: JsonValue): string {
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[${keysOf((value as readonly JsonValue[])[0] ?? null)}]`;
  if (typeof value !== 'object' || value === null) return '';
  const fields = Object.entries(value).map(([key, inner]) => {
    const isState = (key === 'state' || key === 'status') && typeof inner === 'string';
    return isState ? `${key}=${inner}` : `${key}${keysOf(inner)}`;
  });
  return `{${fields.sort().join(' ')}}`;
}

process.exitCode = await main(process.argv.slice(2));

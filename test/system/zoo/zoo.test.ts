import { afterEach, describe, expect, it, test } from 'vitest';
import { classifyStart } from '../../../lib/remote/a2a/classify.js';
import { findByMessage } from '../../../lib/remote/a2a/find-task.js';
import { httpJsonCall } from '../../../lib/remote/a2a/http-json-1.0.js';
import { messageIdOf } from '../../../lib/remote/a2a/message-id.js';
import { exchangeOf } from '../../../lib/remote/rpc/exchange.js';
import type { RemoteEnd } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { textOf } from '../../../lib/workflow/outcome.js';
import { closeAll, httpClient, transportDeps } from '../../unit/remote/loopback.js';
import { TaskStream } from '../../../lib/remote/a2a/task-stream.js';
import {
  isOverStream,
  operationOf,
  parsed,
  withoutStreams,
  type RecordedExchange,
  type RecordedScene,
} from './recording.js';
import { serveRecording } from './serve-recording.js';
import { recordingOf, serveAnimal, type SceneEnd } from './animal.js';
import { play, type Played } from './play.js';
import { zoo } from './zoo.js';

afterEach(closeAll);

const scenes = zoo.flatMap((animal) => {
  const { scenes: plain, overStream = {} } = recordingOf(animal);
  return [
    ...Object.entries(plain).map(([name, scene]) => ({ animal, name, scene, starts: 'plain' as const })),
    ...Object.entries(overStream).map(([name, scene]) => ({ animal, name, scene, starts: 'over a stream' as const })),
  ].map((played) => ({ ...played, title: `${animal.name}, start ${played.starts}` }));
});

describe('servers of others, as they were recorded', () => {
  it.each(zoo)('the recording of $name is of the version that is named', (animal) => {
    const { server, version, recordedOn, scenes: recorded } = recordingOf(animal);
    expect({ server, version, recordedOn }).toEqual({
      server: animal.name,
      version: animal.version,
      recordedOn: animal.recordedOn,
    });
    expect(Object.keys(recorded).sort()).toEqual(Object.keys(animal.ends).sort());
  });

  it.each(zoo.filter(({ name }) => name.startsWith('a2a-')))(
    'F62: of $name, which streams, each scene is recorded with a start over a stream too, and a whole stream',
    (animal) => {
      const { scenes: plain, overStream = {}, streams = [] } = recordingOf(animal);
      expect(streams).toHaveLength(1);
      // A lost start is looked for; a start over a stream is not lost.
      expect(Object.keys(overStream).sort()).toEqual(
        Object.keys(plain)
          .filter((name) => name !== 'find')
          .sort(),
      );
    },
  );

  it.each(scenes)(
    'F60-F66, F70, F72: $title: $name ends as it should, with one start',
    async ({ animal, name, scene, starts }) => {
      const server = await serveAnimal(animal);
      const http = httpClient(isSilent(scene) ? { limits: { headersMs: 50 } } : {});
      const entry = animal.entry(server.origin);
      const config = scene.finds === true ? { ...entry, probeByContext: true } : entry;
      const deps = transportDeps(starts === 'plain' ? withoutStreams(http) : http);
      const transport = createTransports({ zoo: config }, deps).get('zoo');
      const played = await play(transport, scene.request, { ...scene, readsMax: 12 });
      const ends = starts === 'plain' ? animal.ends : { ...animal.ends, ...animal.endsOverStream };
      expect(endOf(played)).toEqual(ends[name]);
      expect(server.starts()).toBe(1);
      expect(server.unknown).toEqual([]);
      const received = server.received.map(({ httpMethod: method, path, text: body }) => ({ method, path, body }));
      expect(received.some(isOverStream)).toBe(starts === 'over a stream');
      // The same requests in the same order; there may be fewer reads.
      const asked = received.map(operationOf);
      const recorded = scene.exchanges.map(({ request }) => operationOf(request));
      expect([...new Set(asked)]).toEqual([...new Set(recorded)]);
      expect(asked.filter(isWrite)).toEqual(recorded.filter(isWrite));
    },
  );
});

test.each(['quick', 'slow'])(
  'what an agent of LangGraph said is in the history that its task is given: %s',
  async (name) => {
    const animal = zoo.find((one) => one.name === 'a2a-langgraph')!;
    const server = await serveAnimal(animal);
    const { request } = recordingOf(animal).overStream?.[name] ?? {};
    const transport = createTransports({ zoo: animal.entry(server.origin) }, transportDeps(httpClient())).get('zoo');
    const { reads } = await play(transport, request!);
    expect(reads.at(-1)).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', result: { history: expect.arrayContaining([said('three rows')]) as unknown } },
    });
  },
);

describe('streams of others, as they were recorded', () => {
  const streams = zoo.flatMap((animal) =>
    (recordingOf(animal).streams ?? []).map((exchange) => ({ name: animal.name, exchange })),
  );

  // BeeAI streams one message, which is no news of a task.
  it.each(streams.filter(({ name }) => name !== 'a2a-beeai'))(
    'the stream of $name can be followed to its end',
    ({ exchange: { request, reply } }) => {
      const { body = '', headers = {} } = reply ?? {};
      const { id } = parsed(request.body);
      const [, taskId = ''] = /"(?:taskId|task": ?\{"id)": ?"([^"]+)"/.exec(body) ?? [];
      const states: string[] = [];
      const stream = new TaskStream(
        { server: 'zoo', protocol: 'a2a', wire: '1.0', taskId },
        typeof id === 'string' ? id : undefined,
        (event) => states.push(event.kind === 'status' ? event.state : 'artifact'),
      );
      expect(stream.push({ status: 200, headers }, body)).toBe(true);
      expect(states.at(-1)).toBe('TASK_STATE_COMPLETED');
      expect(states).toContain(body.includes('artifactId') ? 'artifact' : 'TASK_STATE_WORKING');
    },
  );
});

describe('starts over the streams of others, as they were recorded', () => {
  const streams = zoo.flatMap((animal) =>
    (recordingOf(animal).streams ?? []).map((exchange) => ({ name: animal.name, exchange })),
  );

  it.each(streams)('F62: the first event of $name says what the start has come to', ({ name, exchange }) => {
    const { request, reply } = exchange;
    const { status = 0, headers = {}, body = '' } = reply ?? {};
    const { id } = parsed(request.body);
    const call = httpJsonCall({ kind: 'send', message, idempotencyKey: 'k', overStream: true }, rest, []);
    const came = { kind: 'reply', status, headers, text: body } as const;
    // Over JSON-RPC each event is a response to the request.
    const isRpc = typeof id === 'string';
    if (!isRpc) expect(call.enough?.({ status, headers }, body)).toBe(true);
    const start = classifyStart(isRpc ? exchangeOf(came, id, 0) : call.toExchange(came, 0), origin);
    // BeeAI streams one message when the work is done, and no task.
    if (name === 'a2a-beeai') expect(start).toMatchObject({ kind: 'ended', end: { kind: 'completed' } });
    else expect(start).toMatchObject({ kind: 'started', handle: { taskId: expect.stringMatching(/./) as string } });
  });
});

const idOf = (body: string): string => {
  const { id } = parsed(body);
  return typeof id === 'string' ? id : '';
};

describe('lists of the tasks of others, as they were recorded', () => {
  const lists = zoo.flatMap((animal) => {
    const { look, scenes: recorded } = recordingOf(animal);
    return [...look, ...Object.values(recorded).flatMap(({ exchanges }) => exchanges)]
      .filter(({ request }) => parsed(request.body)['method'] === 'ListTasks')
      .map((exchange) => ({ name: animal.name, exchange, key: recorded['find']?.key ?? '' }));
  });

  it.each(lists)(
    'F62: $name shows the message of a start, lists nothing, or says so',
    async ({ name, exchange, key }) => {
      const { request, reply } = exchange;
      const { status = 0, headers = {}, body = '' } = reply ?? {};
      const came = exchangeOf({ kind: 'reply', status, headers, text: body }, idOf(request.body), 0);
      const to = { ...rest, binding: 'JSONRPC' } as const;
      const found = await findByMessage(
        async () => came,
        { messageId: messageIdOf(key), to, origin },
        () => true,
      );
      if (name === 'a2a-fasta2a') expect(found.kind).toBe('unsupported');
      else if (body.includes('"tasks":[]')) expect(found).toEqual({ kind: 'none', note: 'the agent lists no task' });
      else
        expect(found).toMatchObject({
          kind: 'found',
          handle: { taskId: expect.stringMatching(/^03a40074/) as string },
        });
    },
  );

  it('F62: of each agent that lists there is one', () => {
    expect([...new Set(lists.map(({ name }) => name))].sort()).toEqual([
      'a2a-adk',
      'a2a-agent-framework',
      'a2a-fasta2a',
      'a2a-langgraph',
      'a2a-python-1',
    ]);
  });
});

const rest = { url: 'https://agent.example/', binding: 'HTTP+JSON', wire: '1.0' } as const;
const message = { messageId: 'm', parts: [{ text: 'hi' }] };
const origin = { server: 'zoo', protocol: 'a2a', wire: '1.0' } as const;

describe('the pace of a recording', () => {
  it('lets an answer take as long as it took, or a part of that', async () => {
    const recording = recordingOf({ name: 'a2a-langgraph' });
    const server = await serveRecording(recording, 0.02);
    const { body = '', ms = 0 } = recordedStart(recording.scenes['slow']?.exchanges ?? []);
    const startMs = performance.now();
    const response = await fetch(`${server.origin}/a2a/x`, { method: 'POST', body });
    expect(response.status).toBe(200);
    expect(ms).toBeGreaterThan(3_000);
    expect(performance.now() - startMs).toBeGreaterThan(ms * 0.02 - 5);
  });
});

function recordedStart(exchanges: readonly RecordedExchange[]) {
  const found = exchanges.find(({ request }) => request.method === 'POST');
  return { body: found?.request.body, ms: found?.ms };
}

const said = (text: string): unknown =>
  expect.objectContaining({ role: 'ROLE_AGENT', parts: [expect.objectContaining({ text })] });

const isWrite = (operation: string): boolean => /send|call$|cancel/i.test(operation);

/** Returns whether the start had no answer for as long as the client waited. */
function isSilent({ exchanges }: RecordedScene): boolean {
  return exchanges.some(({ reply }) => reply === undefined);
}

/** Returns the end as a caller sees it. A start of unknown fate is `silent`. */
function endOf({ start, reads }: Played): SceneEnd | string {
  const last = reads.at(-1);
  if (last?.kind === 'ended') return endSaid(last.end);
  if (last !== undefined) return last.kind === 'working' ? { kind: 'working' } : last.error.message;
  if (start.kind === 'ended') return endSaid(start.end);
  if (start.kind === 'unknown') return { kind: 'silent' };
  if (start.kind !== 'refused') return start.kind;
  return { kind: 'refused', reason: start.error.message.replace(/^the server answered with error -?\d+: /, '') };
}

function endSaid(end: RemoteEnd): SceneEnd {
  if (end.kind === 'completed')
    return { kind: 'completed', text: textOf({ ...end, server: 'zoo' }), ...(end.isError ? { isError: true } : {}) };
  const { code, message } = end.error;
  if (code === 'REMOTE_TASK_CANCELLED') return { kind: 'cancelled' };
  return { kind: 'failed', reason: message.replace(/^remote task failed: /, '') };
}

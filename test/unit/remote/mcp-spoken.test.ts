import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { ServerWords, TransportDeps } from '../../../lib/remote/endpoint/transport-deps.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { ServerStates } from '../../../lib/store/parts/server-states.js';
import { mcpServer } from '../../../lib/workflow/app.js';
import { closeAll, httpClient, nowMs, transportDeps } from './loopback.js';
import {
  accepted,
  aPeer,
  httpStatus,
  inSession,
  legacyHello,
  legacyTask,
  legacyTools,
  modern,
  rpcError,
  startOf,
  started,
} from './mcp-peer.js';
import { aPythonPeer, type PythonPeer } from './python-peer.js';

// Facts that workers share about the revision that a server speaks, and what servers of the first SDK for Python
// tolerate.

afterEach(closeAll);

const legacy = {
  'server/discover': httpStatus(404),
  initialize: inSession('s-1', legacyHello),
  'notifications/initialized': accepted,
  'tools/list': legacyTools,
  'tools/call': { task: legacyTask },
};
const newer = { 'server/discover': modern, 'tools/call': started };
const dayMs = 24 * 3_600_000;

/** The shared knowledge of a table, and how often it was read and written. */
function words() {
  const states = new ServerStates(new MemoryTable());
  const counts = { reads: 0, writes: 0 };
  const serverWords: ServerWords = {
    readWord: async (server) => {
      counts.reads++;
      return states.readWord(server);
    },
    noteWord: async (server, word) => {
      counts.writes++;
      return states.noteWord(server, word);
    },
  };
  return { serverWords, counts, states };
}

let shared: ReturnType<typeof words>;
beforeEach(() => {
  shared = words();
});
const wireOf = async (transport: RemoteTaskTransport): Promise<string | undefined> => {
  const reply = await transport.start(startOf('simulate'));
  return reply.kind === 'started' ? reply.handle.wire : undefined;
};
const count = (methods: readonly string[], method: string): number => methods.filter((one) => one === method).length;

describe('what the workers tell each other of the revision', () => {
  it.each([
    ['2025-11-25', legacy],
    ['2026-07-28', newer],
  ])('F68 a server of %s is asked by one process, and that is written once', async (wire, scripts) => {
    const peer = await aPeer(scripts, {}, shared);
    expect(await wireOf(peer.transport)).toBe(wire);
    expect(await wireOf(peer.transport)).toBe(wire);
    expect(await wireOf(peer.another())).toBe(wire);
    expect(await peer.another().traits!()).toMatchObject({ dedupes: false, finds: false });
    expect(count(peer.methods(), 'server/discover')).toBe(1);
    expect(shared.counts).toEqual({ reads: 3, writes: 1 });
  });

  it('F68 what was found at another URL says nothing', async () => {
    const peer = await aPeer(legacy, {}, shared);
    await wireOf(peer.transport);
    await wireOf(peer.another({ url: `${peer.server.url}?v=2` }));
    expect(count(peer.methods(), 'server/discover')).toBe(2);
    expect(shared.counts.writes).toBe(2);
  });

  it.each([
    ['by others: a day later', dayMs, 2],
    ['by others: a millisecond before that', dayMs - 1, 1],
    ['by the process itself: a day later', dayMs, 2],
    ['by the process itself: a millisecond before that', dayMs - 1, 1],
  ])('F68 is believed for a day, %s', async (by, laterMs, times) => {
    const peer = await aPeer(legacy, {}, shared);
    await wireOf(peer.transport);
    peer.advance(laterMs);
    await wireOf(by.startsWith('by others') ? peer.another() : peer.transport);
    expect(count(peer.methods(), 'server/discover')).toBe(times);
    expect(shared.counts.writes).toBe(times);
  });

  it.each([
    ['is not JSON', 'legacy'],
    ['is no object', '7'],
    ['names a revision that nobody knows', '{"revision":"2031-01-01"}'],
  ])('F68 a record that %s is ignored', async (_name, word) => {
    await shared.states.noteWord('reports', word);
    const peer = await aPeer(legacy, {}, shared);
    expect(await wireOf(peer.transport)).toBe('2025-11-25');
    expect(shared.counts.writes).toBe(1);
  });

  it('F68 a word from a clock that ran ahead does not last', async () => {
    const peer = await aPeer(legacy, {}, shared);
    peer.advance(2 * dayMs);
    await wireOf(peer.transport);
    peer.advance(-2 * dayMs);
    await wireOf(peer.another());
    expect(count(peer.methods(), 'server/discover')).toBe(2);
  });

  it('F68 a pinned revision is neither read nor told', async () => {
    const peer = await aPeer(legacy, { protocolVersion: '2025-11-25' }, shared);
    await wireOf(peer.transport);
    expect(shared.counts).toEqual({ reads: 0, writes: 0 });
  });

  it('F68 a store that is away keeps nobody from a server', async () => {
    const away = async (): Promise<never> => Promise.reject(new Error('away'));
    const peer = await aPeer(legacy, {}, { serverWords: { readWord: away, noteWord: away } });
    expect(await wireOf(peer.transport).catch(String)).toBe('2025-11-25');
    expect(await wireOf(peer.transport)).toBe('2025-11-25');
    expect(count(peer.methods(), 'server/discover')).toBe(1);
    expect(peer.warnings()).toMatchObject([{ what: 'read' }, { what: 'write' }]);
  });

  it('F68 a server that did not answer is not remembered', async () => {
    const peer = await aPeer({ ...legacy, 'server/discover': httpStatus(503) }, {}, shared);
    expect(await wireOf(peer.transport)).toBeUndefined();
    expect(shared.counts.writes).toBe(0);
  });

  it('F68 a remembered older server that is now a newer one is found out at the first start, for all', async () => {
    const peer = await aPeer(legacy, {}, shared);
    await wireOf(peer.transport);
    const notOld = rpcError(-32022, 'no', { status: 400, data: { supported: ['2026-07-28'] } });
    peer.becomes({ 'server/discover': modern, initialize: notOld, 'tools/call': [started] });
    expect(await wireOf(peer.another())).toBe('2026-07-28');
    peer.becomes(newer);
    expect(await wireOf(peer.another())).toBe('2026-07-28');
    expect(shared.counts.writes).toBe(2);
  });

  it('F68 … also where it answers the handshake without JSON-RPC', async () => {
    const peer = await aPeer(legacy, {}, shared);
    await wireOf(peer.transport);
    peer.becomes({ ...newer, initialize: httpStatus(404) });
    expect(await wireOf(peer.another())).toBe('2026-07-28');
  });

  it.each([
    ['-32022', rpcError(-32022, 'no', { status: 400, data: { supported: ['2025-11-25'] } })],
    ['404 without JSON-RPC', httpStatus(404)],
    ['that there is no session', rpcError(-32000, 'Bad Request: Server not initialized', { status: 400, id: null })],
    ['a version error', rpcError(-32600, 'Unsupported protocol version', { status: 400, id: null })],
  ])('F68 a remembered newer server that is now an older one is found out by %s', async (_name, denial) => {
    const peer = await aPeer(newer, {}, shared);
    await wireOf(peer.transport);
    peer.becomes({ ...legacy, 'tools/call': [denial, { task: legacyTask }] });
    expect(await wireOf(peer.another())).toBe('2025-11-25');
    expect(await wireOf(peer.another())).toBe('2025-11-25');
    expect(shared.counts.writes).toBe(2);
  });

  it('F68 a refusal that has another reason is not tried again over the same revision, and changes no word', async () => {
    const peer = await aPeer(newer, {}, shared);
    await wireOf(peer.transport);
    peer.becomes({ ...newer, 'tools/call': httpStatus(404) });
    expect(await peer.another().start(startOf('simulate'))).toMatchObject({ kind: 'refused' });
    expect(count(peer.methods(), 'tools/call')).toBe(2);
    expect(shared.counts.writes).toBe(1);
  });

  it('F68 an error for the call itself leaves the revision as it is', async () => {
    const peer = await aPeer(
      { ...newer, 'tools/call': rpcError(-32000, 'no bank session', { status: 400 }) },
      {},
      shared,
    );
    expect((await peer.transport.start(startOf('x'))).kind).toBe('refused');
    expect(count(peer.methods(), 'server/discover')).toBe(1);
  });

  it('F68 what a server says of itself is told with its age, and written again in an hour at most once', async () => {
    const deduping = {
      ...modern,
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {}, 'dev.outwait/dedupes': {} } },
    };
    const peer = await aPeer({ ...newer, 'server/discover': deduping }, {}, shared);
    const asked = async (): Promise<number> => {
      expect(await peer.another().traits!()).toMatchObject({ dedupes: true, finds: false });
      return count(peer.methods(), 'server/discover');
    };
    expect([await asked(), await asked()]).toEqual([1, 1]);
    peer.advance(300_000);
    expect(await asked()).toBe(2);
    expect(shared.counts.writes).toBe(1);
    peer.advance(3_300_000);
    expect([await asked(), await asked()]).toEqual([3, 3]);
    expect(shared.counts.writes).toBe(2);
    peer.becomes(newer);
    peer.advance(300_000);
    expect(await peer.another().traits!()).toMatchObject({ dedupes: false, finds: false });
    expect(shared.counts.writes).toBe(3);
  });

  it.each([
    ['401', httpStatus(401)],
    ['403 with an error', rpcError(-32001, 'session principal mismatch', { status: 403, id: null })],
    ['an event that is no answer', { error: 'Session not found' }],
  ])('F68 the handshake tells where the question is answered with %s', async (name, answer) => {
    const odd = typeof answer === 'function' ? answer : httpStatus(200, JSON.stringify(answer));
    const peer = await aPeer({ ...legacy, 'server/discover': odd }, {}, shared);
    expect([name, await wireOf(peer.transport)]).toEqual([name, '2025-11-25']);
  });
});

describe('servers of the first SDK for Python', () => {
  let python: PythonPeer;
  let deps: TransportDeps;
  let atMs: number;
  /** Creates a transport as a separate process has it, which knows what the others shared. */
  const aProcess = (): RemoteTaskTransport =>
    createTransports({ reports: mcpServer({ url: python.url }) }, deps).get('reports');
  const start = async (by: RemoteTaskTransport, tool = 'work'): Promise<RemoteTaskHandle> => {
    const reply = await by.start(startOf(tool));
    if (reply.kind !== 'started') throw new Error(JSON.stringify(reply));
    return reply.handle;
  };

  beforeEach(async () => {
    python = await aPythonPeer();
    atMs = nowMs;
    deps = transportDeps(httpClient(), { serverWords: shared.serverWords, clock: { nowMs: () => atMs } });
  });

  it('F68 a process that asks which revision is spoken ends nobody’s tasks', async () => {
    const first = aProcess();
    await start(first);
    shared = words();
    deps = { ...deps, serverWords: shared.serverWords };
    const second = aProcess();
    expect(await second.traits!()).toMatchObject({ dedupes: false, finds: false });
    expect(python.sent().filter((sent) => sent === 'server/discover')).toHaveLength(2);
    expect(python.strays()).toBe(0);
    expect((await start(first)).taskId).toBe('t2');
    // Each start has one session, and each process has one for its lists.
    expect(python.open()).toBe(4);
  });

  it('session of its own: code that returns after its task was cancelled ends no other task', async () => {
    const [here, there] = [aProcess(), aProcess()];
    const cancelled = await start(here);
    const siblings = [await start(here), await start(there), await start(here)];
    await here.cancel(cancelled);
    python.returns(cancelled.taskId);
    for (const { taskId } of siblings) python.returns(taskId);
    for (const sibling of siblings) expect(await there.get(sibling)).toMatchObject({ kind: 'ended' });
  });

  it('session of its own: tasks that are started at the same time have each theirs', async () => {
    const here = aProcess();
    const handles = await Promise.all([1, 2, 3, 4].map(() => start(here)));
    expect(new Set(handles.map(({ session }) => session)).size).toBe(4);
    await here.cancel(handles[0]!);
    for (const { taskId } of handles) python.returns(taskId);
    const reads = await Promise.all(handles.slice(1).map((handle) => here.get(handle)));
    expect(reads.map(({ kind }) => kind)).toEqual(['ended', 'ended', 'ended']);
  });

  it('session of its own: a start costs a handshake more, and one that fails holds up no other', async () => {
    const here = aProcess();
    await start(here);
    const before = python.sent().length;
    await start(here);
    expect(python.sent().slice(before)).toEqual(['initialize', 'notifications/initialized 3', 'tools/call 3']);
    const thrown = here.start(startOf('work', { big: 1n }));
    const after = start(here);
    await expect(thrown).rejects.toThrow();
    expect(await after.catch(String)).toMatchObject({ taskId: 't3' });
  });

  it('session of its own: a call that hangs lets the others go on after five seconds', async () => {
    const { http } = deps;
    let hung = (): void => undefined;
    const asked: number[] = [];
    deps = {
      ...deps,
      delay: async (delayMs) => void asked.push(delayMs),
      http: {
        ...http,
        send: async (request) => {
          if (String(request.body).includes('"slow":true')) await new Promise<void>((resolve) => (hung = resolve));
          return http.send(request);
        },
      },
    };
    const here = aProcess();
    const slow = here.start(startOf('work', { slow: true }));
    expect(await here.start(startOf('work'))).toMatchObject({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { taskId: 't1' },
    });
    hung();
    expect(await slow).toMatchObject({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { taskId: 't2' },
    });
    expect(asked).toEqual([5_000, 5_000]);
  });

  it('session of its own: a session is for its task alone', async () => {
    const here = aProcess();
    const cancelled = await start(here);
    await here.start(startOf('plain'));
    expect(python.sent().at(-1)).toBe('tools/call 1');
    expect(cancelled.session).toBe('2'.padStart(32, '0'));
  });

  it('session of its own: plain calls share one', async () => {
    const here = aProcess();
    await here.start(startOf('plain'));
    await here.start(startOf('plain'));
    expect(python.open()).toBe(1);
  });

  it('a start that finds no tasks running there is no result, and the next attempt has another session', async () => {
    const here = aProcess();
    await start(here);
    const sent = deps.http.send.bind(deps.http);
    const racing: TransportDeps['http'] = {
      ...deps.http,
      send: async (request) => {
        // Ends the session of another client between the handshake and the call.
        if (String(request.body).includes('"tools/call"')) python.ends('1'.padStart(32, '0'));
        return sent(request);
      },
    };
    const { http } = deps;
    deps = { ...deps, http: racing };
    expect(await aProcess().start(startOf('work'))).toMatchObject({
      kind: 'retry',
      error: { code: 'REMOTE_UNREACHABLE', message: expect.stringContaining('starts no tasks') as string },
    });
    deps = { ...deps, http };
    expect((await start(aProcess())).taskId).toBe('t2');
  });

  it('tools are listed again where the session of the list has ended, and their tasks stay tasks', async () => {
    const here = aProcess();
    await start(here);
    python.ends('1'.padStart(32, '0'));
    atMs += 300_000;
    expect(await here.start(startOf('work'))).toMatchObject({ kind: 'started' });
    expect(python.sent().slice(-7)).toEqual([
      'tools/list 1',
      'initialize',
      'notifications/initialized 3',
      'tools/list 3',
      'initialize',
      'notifications/initialized 4',
      'tools/call 4',
    ]);
  });
});

describe('sessions of other servers of 2025-11-25', () => {
  it('are shared by the tasks of a process', async () => {
    const peer = await aPeer(legacy);
    await peer.transport.start(startOf('simulate'));
    await peer.transport.start(startOf('simulate'));
    expect(count(peer.methods(), 'initialize')).toBe(1);
  });
});

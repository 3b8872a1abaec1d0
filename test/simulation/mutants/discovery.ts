import { testsIn, type Mutant } from './mutant.js';

const revision = 'lib/remote/mcp/revision.ts';
const spoken = 'lib/remote/mcp/known-revision.ts';
const discovery = 'lib/remote/mcp/discovery.ts';
const sessions = 'lib/remote/mcp/legacy-sessions.ts';
const dialect = 'lib/remote/mcp/dialect-2025-11-25.ts';
const client = 'lib/remote/mcp/mcp-transport.ts';
const told = (test: string): Mutant['caughtBy'] =>
  testsIn('test/unit/remote/mcp-spoken.test.ts', `what the workers tell each other of the revision ${test}`);
const python = (test: string): Mutant['caughtBy'] =>
  testsIn('test/unit/remote/mcp-spoken.test.ts', `servers of the first SDK for Python ${test}`);

export const discoveryMutants: readonly Mutant[] = [
  {
    name: 'discovery-opens-a-session',
    rule: 'the question for the revision opens no session (F68)',
    file: 'lib/remote/mcp/wire-2026-07-28.ts',
    edits: [
      {
        find: "return { ...call, headers: { ...headers, 'mcp-session-id': 'none' } };",
        replace: 'return { ...call, headers };',
      },
    ],
    caughtBy: python('F68 a process that asks'),
  },
  {
    name: 'discovery-refused-for-its-session',
    rule: 'what may be about the session that is named says nothing of the revision (F68)',
    file: discovery,
    edits: [{ find: 'return isUnclear ? { ...failure, isUnclear } : failure;', replace: 'return failure;' }],
    caughtBy: told('F68 the handshake tells'),
  },
  {
    name: 'revision-not-told',
    rule: 'what one process has found out is known to all (F68)',
    file: revision,
    edits: [{ find: 'await this.#remember(found);', replace: '' }],
    caughtBy: told('F68 a server of'),
  },
  {
    name: 'revision-not-shared-locally',
    rule: 'the next process knows what the one before has found out (F68)',
    file: 'lib/local/engine.ts',
    edits: [{ find: 'serverWords: store.servers,', replace: '' }],
    caughtBy: testsIn('test/system/local/engine.test.ts', 'the local engine (EN-13) F68 does not ask'),
  },
  {
    name: 'revision-told-each-time',
    rule: 'a word is written when it changes, or is an hour old (F68)',
    file: revision,
    edits: [
      {
        find: 'if (stored !== undefined && saysTheSame(stored, spoken) && spoken.askedAtMs < stored.askedAtMs + discoveryAgeMaxMs) return;',
        replace: '',
      },
    ],
    caughtBy: told('F68 what a server says of itself'),
  },
  {
    name: 'revision-change-not-told',
    rule: 'a word that has changed is written at once (F68)',
    file: revision,
    edits: [{ find: 'saysTheSame(stored, spoken) && spoken', replace: 'spoken' }],
    caughtBy: told('F68 a remembered'),
  },
  {
    name: 'revision-of-another-url',
    rule: 'what was found at another URL is not believed (F68)',
    file: spoken,
    edits: [{ find: 'digest !== digestOf(url) || known', replace: 'digest === undefined || known' }],
    caughtBy: told('F68 what was found at another URL'),
  },
  {
    name: 'revision-believed-for-ever',
    rule: 'a remembered word is believed for a day (F68)',
    file: spoken,
    edits: [{ find: 'nowMs - askedAtMs >= revisionAgeMs ||', replace: '' }],
    caughtBy: told('F68 is believed for a day'),
  },
  {
    name: 'revision-believed-by-a-process',
    rule: 'a process believes what it has found for a day (F68)',
    file: revision,
    edits: [
      {
        find: 'return found !== undefined && this.#deps.clock.nowMs() < found.askedAtMs + revisionAgeMs ? found : undefined;',
        replace: 'return found;',
      },
    ],
    caughtBy: told('F68 is believed for a day'),
  },
  {
    name: 'revision-of-the-future',
    rule: 'a record from a clock that ran ahead is ignored (F68)',
    file: spoken,
    edits: [{ find: '|| askedAtMs - nowMs >= revisionAgeMs', replace: '' }],
    caughtBy: told('F68 a word from a clock'),
  },
  {
    name: 'revision-remembered-though-denied',
    rule: 'what the server has denied is not taken from the store again (F68)',
    file: revision,
    edits: [
      {
        find: 'if (serverWords === undefined || this.#isDenied) return undefined;',
        replace: 'if (serverWords === undefined) return undefined;',
      },
    ],
    caughtBy: told('F68 a remembered'),
  },
  {
    name: 'revision-store-away',
    rule: 'an unavailable store keeps no worker from a server (F68)',
    file: revision,
    edits: [
      {
        find: 'return undefined; } } } /** Returns the finding for a server that says nothing about itself. */',
        replace: 'throw error; } } } /** Returns the finding for a server that says nothing about itself. */',
      },
    ],
    caughtBy: told('F68 a store that is away'),
  },
  {
    name: 'older-server-taken-for-a-refusal',
    rule: 'a newer call that an older server turns away has the server asked again (F68)',
    file: discovery,
    edits: [
      {
        find: "if (exchange.kind === 'http_error') return [400, 404, 405, 406, 415].includes(exchange.status);",
        replace: '',
      },
    ],
    caughtBy: told('F68 a remembered newer server'),
  },
  {
    name: 'newer-server-without-handshake',
    rule: 'a server that takes no handshake any more is asked again (F68)',
    file: dialect,
    edits: [{ find: 'return session.refused ? {', replace: 'return session.otherRevision ? {' }],
    caughtBy: told('F68 … also where it answers the handshake'),
  },
  {
    name: 'refused-start-called-again',
    rule: 'a call is made again over another revision, never over the same (F68)',
    file: client,
    edits: [{ find: 'if (now.revision === found.revision) return refused(reply);', replace: '' }],
    caughtBy: told('F68 a refusal that has another reason'),
  },
  {
    name: 'tasks-share-a-session',
    rule: 'where tasks die together, each has a session of its own',
    file: dialect,
    edits: [
      {
        find: 'const own = await this.#sessions.another(untilMs);',
        replace: 'const own = await this.#sessions.current(untilMs);',
      },
    ],
    caughtBy: python('session of its own: code that returns'),
  },
  {
    name: 'starts-of-tasks-cross',
    rule: 'no session is opened between that of a task and its call',
    file: dialect,
    edits: [
      { find: 'return this.#startsOneByOne.run(async () => {', replace: 'return Promise.resolve().then(async () => {' },
    ],
    caughtBy: python('session of its own: tasks that are started at the same time'),
  },
  {
    name: 'start-that-fails-holds-up-others',
    rule: 'a start that fails holds up no other',
    file: 'lib/remote/mcp/one-by-one.ts',
    edits: [{ find: 'leave(); ended.abort();', replace: 'ended.abort();' }],
    caughtBy: testsIn('test/unit/remote/one-by-one.test.ts', 'one by one: one that fails'),
  },
  {
    name: 'start-that-hangs-holds-up-others',
    rule: 'a start that takes long holds up no other',
    file: 'lib/remote/mcp/one-by-one.ts',
    edits: [{ find: 'inTime?.then(leave, leave);', replace: 'void inTime;' }],
    caughtBy: testsIn('test/unit/remote/one-by-one.test.ts', 'one by one: one that takes longer'),
  },
  {
    name: 'no-tasks-taken-for-a-result',
    rule: 'a task that the server did not begin is not a result',
    file: dialect,
    edits: [{ find: "if (none !== undefined) return { kind: 'retry', error: none };", replace: '' }],
    caughtBy: python('a start that finds no tasks'),
  },
  {
    name: 'tools-of-a-lost-session',
    rule: 'a session that has ended says nothing of the tools',
    file: dialect,
    edits: [
      {
        find: "if (listed.kind !== 'unready' || listed.isLost !== true) return listed;",
        replace: 'if (true) return listed;',
      },
    ],
    caughtBy: python('tools are listed again'),
  },
  {
    name: 'every-task-a-session',
    rule: 'sessions of other servers are shared by tasks',
    file: 'lib/remote/mcp/wire-2025-11-25.ts',
    edits: [
      {
        find: 'return tasks && id !== undefined && /^[0-9a-f]{32}$/.test(id);',
        replace: 'return tasks && id !== undefined;',
      },
    ],
    caughtBy: testsIn('test/unit/remote/mcp-spoken.test.ts', 'sessions of other servers of 2025-11-25'),
  },
  {
    name: 'session-of-a-task-for-all',
    rule: 'the session of a task is used for nothing else',
    file: sessions,
    edits: [{ find: 'return this.#open(untilMs); }', replace: 'return this.#openCurrent(untilMs); }' }],
    caughtBy: python('session of its own: a session is for its task alone'),
  },
];

import { testsIn, type Mutant, storePart } from './mutant.js';

export const remoteMutants: readonly Mutant[] = [
  {
    name: 'metadata-addresses',
    rule: 'addresses where clouds keep credentials are dialled under no rule, public ones among them',
    file: 'lib/remote/http/address-rule.ts',
    edits: [{ find: 'if (isKeptBack(parsed)) return false;', replace: '' }],
    caughtBy: testsIn('test/unit/remote/address-rule.test.ts', 'F93 where clouds keep credentials'),
  },
  {
    name: 'token-with-comma',
    rule: 'a management token is one token as it is',
    file: 'lib/aws/management-access.ts',
    edits: [{ find: '.filter((text) => text !== undefined)', replace: ".flatMap((text) => text?.split(',') ?? [])" }],
    caughtBy: testsIn('test/unit/aws/secrets.test.ts', 'management requests F92 take a token with a comma as one'),
  },
  {
    name: 'short-token',
    rule: 'a management token that can be guessed is refused',
    file: 'lib/topology/env.ts',
    edits: [{ find: 'token.length < managementTokenMinChars', replace: 'token.length < 1' }],
    caughtBy: testsIn('test/unit/aws/env.test.ts', 'the environment of a function F92 refuses at its start'),
  },
  {
    name: 'other-local-port',
    rule: 'a page of another port of the machine does not drive local mode',
    file: 'lib/http/access.ts',
    edits: [{ find: 'origin !== own.origin', replace: 'new URL(origin).hostname !== own.hostname' }],
    caughtBy: testsIn('test/unit/http/routes.test.ts', 'access F95 lets pages of this very host and port alone in'),
  },
  {
    name: 'same-site-image',
    rule: 'what a page of another port asks for without an Origin is refused too',
    file: 'lib/http/access.ts',
    edits: [{ find: "site !== 'none' && site !== 'same-origin'", replace: "site === 'cross-site'" }],
    caughtBy: testsIn('test/unit/http/routes.test.ts', 'access F95 lets pages of this very host and port alone in'),
  },
  {
    name: 'several-bearers',
    rule: 'of several Authorization headers none is taken',
    file: 'lib/http/access.ts',
    edits: [{ find: '[A-Za-z0-9._~+/-]+=*) *$/i', replace: '[A-Za-z0-9._~+/-]+=*)/i' }],
    caughtBy: testsIn('test/unit/http/relays.test.ts', 'the routes with the token as bearer token (S0-104) answer'),
  },
  {
    name: 'batch-overtakes',
    rule: 'in a batch nothing for a wait is settled after what is to be sent again for it',
    file: 'lib/http/batch-routes.ts',
    edits: [{ find: 'before?.retryable === true ? before : settleNext()', replace: 'settleNext()' }],
    caughtBy: testsIn('test/unit/http/relays.test.ts', 'POST /activities/external/batch says for each entry that'),
  },
  {
    name: 'task-id-alone',
    rule: 'a task is found by its id together with its server',
    file: 'lib/operations/views/list-external-waits.ts',
    edits: [{ find: '(wanted.server === undefined || server === wanted.server) &&', replace: '' }],
    caughtBy: testsIn(
      'test/unit/http/external-waits.test.ts',
      'GET /activities/external with a server (S0-103, S2-10)',
    ),
  },
  {
    name: 'doubtful-session',
    rule: 'a start is sent again under another session only where it surely did not run',
    file: 'lib/remote/mcp/wire-2025-11-25.ts',
    edits: [
      { find: "return unaddressed && saysSession(exchange) ? 'surely' : 'perhaps';", replace: "return 'surely';" },
    ],
    caughtBy: testsIn('test/unit/remote/mcp-legacy.test.ts', 'a lost session F94 a start is sent once'),
  },
  {
    name: 'cancel-of-the-unknown',
    rule: 'so soon after its start a task that its server does not know is asked again to stop',
    file: 'lib/operations/remote-task/stop-remote.ts',
    edits: [{ find: "isYoung(left.token ?? token, atMs) ? 'later'", replace: "false ? 'later'" }],
    caughtBy: testsIn(
      'test/engine/remote-left.test.ts',
      'a task that its server does not know yet F07 is asked again when it loses a race',
    ),
  },
  {
    name: 'answer-to-the-unknown',
    rule: 'an answer to a question of a task that its server does not know is kept',
    file: 'lib/remote/mcp/dialect-2026-07-28.ts',
    edits: [{ find: "return { kind: 'retry', error: task.error };", replace: "return { kind: 'done' };" }],
    caughtBy: testsIn('test/unit/remote/mcp-modern.test.ts', 'answers -32602 to an answer where F07'),
  },
  {
    name: 'late-settlement',
    rule: 'a wait whose deadline has passed takes no result, though no sweep has seen that',
    file: storePart('tokens'),
    edits: [{ find: 'notOverdue(atMs)]', replace: 'notOverdue(0 * atMs)]' }],
    caughtBy: testsIn(
      'test/engine/deadlines.test.ts',
      'a deadline that has passed unseen F18 ends the wait for the holder of its token',
    ),
  },
  {
    name: 'late-heartbeat',
    rule: 'a heartbeat does not revive a wait whose deadline has passed',
    file: storePart('tokens'),
    edits: [
      { find: 'notSettled, hasDeadline, notOverdue(nowMs)', replace: 'notSettled, hasDeadline, notOverdue(0 * nowMs)' },
    ],
    caughtBy: testsIn(
      'test/engine/deadlines.test.ts',
      'a deadline that has passed unseen F18 ends the wait for a heartbeat',
    ),
  },
  {
    name: 'number-overflow',
    rule: 'a result with a number that JavaScript does not hold ends the call typed',
    file: 'lib/remote/endpoint/endpoint.ts',
    edits: [
      {
        find: 'finiteOrRefused(reply, overflow, this.server)',
        replace: 'finiteOrRefused(reply, undefined, this.server)',
      },
    ],
    caughtBy: testsIn(
      'test/unit/remote/bodies.test.ts',
      'F10 a result with a number that JavaScript does not hold ends a start',
    ),
  },
  {
    name: 'start-beyond-limits',
    rule: 'a start that was answered with more than is parsed is not ambiguous',
    file: 'lib/remote/rpc/failed-exchange.ts',
    edits: [
      {
        find: 'exchange.isBeyondLimits !== true) return undefined;',
        replace: 'exchange.isBeyondLimits === true) return undefined;',
      },
    ],
    caughtBy: testsIn('test/unit/remote/bodies.test.ts', 'F10 other replies that are the answer to a start'),
  },
  {
    name: 'ill-formed-id',
    rule: 'an id of a task is well-formed text',
    file: 'lib/remote/endpoint/handle.ts',
    edits: [{ find: 'id.isWellFormed() &&', replace: '' }],
    caughtBy: testsIn('test/unit/remote/bodies.test.ts', 'F83 ids of tasks are refused'),
  },
  {
    name: 'ids-in-urls',
    rule: 'an older handle whose id no URL holds throws nothing',
    file: 'lib/remote/a2a/a2a-transport.ts',
    edits: [{ find: "operation.kind !== 'send' && !canBeNamed(operation, to)", replace: 'false' }],
    caughtBy: testsIn('test/unit/remote/bodies.test.ts', 'F83 ids of tasks of older handles'),
  },
  {
    name: 'events-without-id',
    rule: 'an event that does not hold the id of the request is not parsed',
    file: 'lib/remote/rpc/json-rpc.ts',
    edits: [{ find: 'if (!data.includes(this.#quotedId)) {', replace: 'if (data.length < 0) {' }],
    caughtBy: testsIn('test/unit/remote/bodies.test.ts', 'F84 an event stream full of'),
  },
  {
    name: 'empty-objects',
    rule: 'objects and arrays are counted before a reply is parsed',
    file: 'lib/base/bounded-json.ts',
    edits: [
      { find: 'if (++parts > maxParts) throw tooManyParts(maxParts); break; case 0x5d', replace: 'break; case 0x5d' },
    ],
    caughtBy: testsIn(
      'test/unit/base/bounded-json.test.ts',
      'F84 what is counted before parsing F84 empty objects count',
    ),
  },
  {
    name: 'line-end-across-pieces',
    rule: 'a carriage return at the end of a piece and the line feed after it are one line end',
    file: 'lib/remote/http/event-stream.ts',
    edits: [{ find: 'isInLineEnd && piece.charCodeAt(0) === 0x0a ? 1 : 0', replace: '0' }],
    caughtBy: testsIn('test/unit/remote/bodies.test.ts', 'F84 an event stream gives the data'),
  },
];

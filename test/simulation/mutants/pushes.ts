import { rules, storePart, testsIn, type Mutant } from './mutant.js';

const tokenKeys = 'lib/tokens/token-keys.ts';
const receivePush = 'lib/operations/requests/receive-push.ts';
const pokeTask = 'lib/operations/requests/poke-task.ts';
const pollTask = 'lib/operations/remote-task/poll-task.ts';
const poll = 'lib/decide/poll.ts';
const push = 'lib/remote/a2a/push.ts';
const spoofing = (test: string) => testsIn('test/unit/http/push-spoofing.test.ts', test);
const receiving = (test: string) => testsIn('test/unit/http/pushes.test.ts', test);
const registering = (test: string) => testsIn('test/unit/remote/a2a-push.test.ts', test);

export const pushesMutants: readonly Mutant[] = [
  {
    name: 'push-token-settles',
    rule: 'what lets a server push does not let it settle',
    file: tokenKeys,
    edits: [
      {
        find: 'return mac(key, purpose, `${runId}.${waitId}.${server}`);',
        replace: "return mac(key, 'settle', `${runId}.${waitId}`);",
      },
    ],
    caughtBy: spoofing('the secret of a call opens no door of a relay'),
  },
  {
    name: 'push-secret-is-the-token',
    rule: 'the address of a push is not its secret',
    file: tokenKeys,
    edits: [{ find: 'return mac(key, purpose, `${runId}', replace: "return mac(key, 'push', `${runId}" }],
    caughtBy: spoofing('the secret of a call'),
  },
  {
    name: 'push-of-any-server',
    rule: 'a push belongs to the server that was given its address',
    file: tokenKeys,
    edits: [{ find: '`${runId}.${waitId}.${server}`', replace: '`${runId}.${waitId}`' }],
    caughtBy: spoofing('the secret of a call'),
  },
  {
    name: 'push-without-secret',
    rule: 'a push proves itself before anything is read',
    file: receivePush,
    edits: [{ find: 'if (!hasSecret(request, secret)) throw unauthorized(deps);', replace: '' }],
    caughtBy: spoofing('the secret of a call'),
  },
  {
    name: 'signed-or-secret',
    rule: 'an agent that signs its pushes must sign them all',
    file: receivePush,
    edits: [
      { find: 'if (pushAuth === undefined) {', replace: 'if (pushAuth === undefined || hasSecret(request, secret)) {' },
    ],
    caughtBy: spoofing('a push that an agent signs does not come with the secret'),
  },
  {
    name: 'push-of-another-task',
    rule: 'a push must name the task of its wait',
    file: receivePush,
    edits: [{ find: '(handle !== undefined && handle.taskId !== taskId)', replace: 'false' }],
    caughtBy: spoofing('a push about another task'),
  },
  {
    name: 'push-for-another-server',
    rule: 'a push reads no task of another server than the one that it came from',
    file: receivePush,
    edits: [{ find: 'if (token?.server !== server) throw', replace: 'if (token === undefined) throw' }],
    caughtBy: spoofing('the address of a push of another server'),
  },
  {
    name: 'push-after-the-end',
    rule: 'a push about a wait that has ended changes nothing',
    file: receivePush,
    edits: [{ find: "if (token.settlement !== undefined) return 'over';", replace: '' }],
    caughtBy: receiving('a push that proves itself is taken and changes nothing once'),
  },
  {
    name: 'large-signed-push',
    rule: 'a signed push is taken only if what it says was read',
    file: receivePush,
    edits: [{ find: "if (!isSigned) return 'unread';", replace: "return 'unread';" }],
    caughtBy: receiving('a large push is refused if it is signed'),
  },
  {
    name: 'every-push-pokes',
    rule: 'a push that says that the task goes on costs no read',
    file: receivePush,
    edits: [{ find: "if (handle === undefined || says === 'working')", replace: 'if (handle === undefined)' }],
    caughtBy: receiving('a push that proves itself and says that the task works'),
  },
  {
    name: 'early-push-forgotten',
    rule: 'a push that comes before the handle is recorded',
    file: receivePush,
    edits: [
      {
        find: 'if (pushedAtMs === undefined && !isOfStart(',
        replace: 'if (pushedAtMs === undefined && handle !== undefined && !isOfStart(',
      },
    ],
    caughtBy: receiving('a push that proves itself that comes before the handle'),
  },
  {
    name: 'push-of-start-recorded',
    rule: 'a push of 0.3 while the start is answered promises no others',
    file: receivePush,
    edits: [
      {
        find: 'if (pushedAtMs === undefined && !isOfStart(news, atMs - token.createdAtMs))',
        replace: 'if (pushedAtMs === undefined)',
      },
    ],
    caughtBy: receiving('a push that proves itself while its start is answered'),
  },
  {
    name: 'poke-covered-by-delivered-one',
    rule: 'a poke is dropped only for one that was not delivered yet',
    file: pokeTask,
    edits: [{ find: 'nowMs < last.notBeforeMs) return', replace: 'nowMs - last.sentAtMs < pokeIntervalMs) return' }],
    caughtBy: receiving('pokes of one task are not covered'),
  },
  {
    name: 'pokes-without-limit',
    rule: 'a process sends at most one poke a second for a task',
    file: pokeTask,
    edits: [{ find: 'if (last !== undefined && nowMs < last.notBeforeMs) return;', replace: '' }],
    caughtBy: receiving('pokes of one task are at most one a second'),
  },
  {
    name: 'lost-poke-dropped',
    rule: 'a poke whose claim was lost is sent again',
    file: pollTask,
    edits: [
      { find: 'if (message.dueAtMs === undefined) await pollAt(', replace: 'if (false as boolean) await pollAt(' },
    ],
    caughtBy: rules('pushing', 'poke whose claim was lost'),
  },
  {
    name: 'end-waits-for-backstop',
    rule: 'after a push about the end no read waits for the backstop',
    file: poll,
    edits: [{ find: 'if (!saidEnded) return token;', replace: 'if (!saidEnded || true) return token;' }],
    caughtBy: rules('pushing', 'poke after the end'),
  },
  {
    name: 'end-read-once',
    rule: 'a read that does not find an end that was pushed is repeated soon',
    file: poll,
    edits: [{ find: 'looks < looksAfterPush ? nowMs', replace: 'looks < 0 ? nowMs' }],
    caughtBy: rules('pushing', 'poke after the end'),
  },
  {
    name: 'failed-poke-waits-for-backstop',
    rule: 'a failing read is repeated as without pushes',
    file: poll,
    edits: [
      {
        find: 'const usualMs = Math.max(pollIntervalMs(nowMs - token.createdAtMs),',
        replace: 'const usualMs = Math.max(readIntervalMs(token, nowMs),',
      },
    ],
    caughtBy: rules('pushing', 'backstop: a read that fails'),
  },
  {
    name: 'backstop-from-the-start',
    rule: 'until a push has come, a task is read as without pushes',
    file: poll,
    edits: [{ find: 'pushedAtMs === undefined ? pollIntervalMs(ageMs) :', replace: '' }],
    caughtBy: rules('pushing', 'backstop: a third of the age'),
  },
  {
    name: 'first-push-moves-on',
    rule: 'the first push is recorded once',
    file: storePart('polls'),
    edits: [
      { find: 'conditions: [itemExists, notSettled, notPushed],', replace: 'conditions: [itemExists, notSettled],' },
    ],
    caughtBy: rules('pushing', 'first push'),
  },
  {
    name: 'push-makes-item',
    rule: 'a push makes no item',
    file: storePart('polls'),
    edits: [
      { find: 'conditions: [itemExists, notSettled, notPushed],', replace: 'conditions: [notSettled, notPushed],' },
    ],
    caughtBy: rules('pushing', 'first push'),
  },
  {
    name: 'push-registration-left',
    rule: 'the registration of a task that was read to its end is deleted',
    file: 'lib/operations/remote-task/poll-reply.ts',
    edits: [{ find: "if (settled === 'settled') await forgetPush(deps, token);", replace: '' }],
    caughtBy: rules('pushing', 'poke: it moves the next read to the backstop'),
  },
  {
    name: 'loopback-to-agents-elsewhere',
    rule: 'an agent elsewhere is given no address of this machine',
    file: push,
    edits: [{ find: "return agent === 'loopback';", replace: 'return true;' }],
    caughtBy: registering('the registration of pushes is left out if our address'),
  },
  {
    name: 'push-refusal-ends-start',
    rule: 'a start that was refused for its registration is made again without',
    file: push,
    edits: [{ find: 'if (!refusesPush(exchange)) return', replace: 'if (!refusesPush(exchange) || true) return' }],
    caughtBy: registering('the registration of pushes that is refused'),
  },
  {
    name: 'push-secret-in-errors',
    rule: 'what an agent echoes of a registration is in no error',
    file: push,
    edits: [
      {
        find: 'return push.secret === undefined ? [token] : [token, push.secret];',
        replace: 'return token === undefined ? [token] : [];',
      },
    ],
    caughtBy: registering('the registration of pushes is named in no error'),
  },
];

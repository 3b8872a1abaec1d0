import { storePart, testsIn, type Mutant } from './mutant.js';

const items = storePart('push-configs');
const delivery = 'lib/operations/serve/deliver-pushes.ts';
const configs = 'lib/operations/serve/push-configs.ts';
const fate = 'lib/operations/serve/push-fate.ts';
const news = 'lib/operations/serve/pushes-after.ts';
const raise = 'lib/operations/serve/raise-owed.ts';
const pushing = (test: string) => testsIn('test/engine/serve/pushes.test.ts', test);

export const servedPushesMutants: readonly Mutant[] = [
  {
    name: 'push-configs-lie-with-the-current-run',
    rule: 'push configs lie with the first run of a task',
    file: raise,
    edits: [{ find: 'const taskId = task.firstRunId ?? runId;', replace: 'const taskId = runId;' }],
    caughtBy: pushing('news of a task of the runs that continue one another'),
  },
  {
    name: 'push-config-without-marker',
    rule: 'a config is put with a marker: an event may be committed before it',
    file: items,
    edits: [
      {
        find: 'item: pushConfigItem(record), conditions',
        replace: 'item: pushConfigItem({ ...record, dueAtMs: undefined as never }), conditions',
      },
    ],
    caughtBy: pushing('news of a task that a turn committed before their config was put'),
  },
  {
    name: 'push-config-of-a-repeated-start',
    rule: 'a repeated start brings back no config that was replaced or removed',
    file: configs,
    edits: [{ find: '{ onlyNew: true }', replace: '{ onlyNew: false }' }],
    caughtBy: pushing('the push config of a message stays as it is when the message is repeated'),
  },
  {
    name: 'push-config-of-a-repeated-message',
    rule: 'a repeated message puts no config',
    file: 'lib/operations/serve/follow-up.ts',
    edits: [
      {
        find: 'if (prepare === undefined || (await isKnown(deps, taskId, record))) return;',
        replace: 'if (prepare === undefined) return;',
      },
    ],
    caughtBy: pushing('the push config of a message stays as it is when the message is repeated'),
  },
  {
    name: 'push-config-after-its-message',
    rule: 'the config of a message is put before the message',
    file: 'lib/operations/serve/follow-up.ts',
    edits: [
      {
        find: 'await prepared(deps, { task, request }, record);\n    return sendMessage(deps, { ...taken, runId: taskId });',
        replace:
          'await sendMessage(deps, { ...taken, runId: taskId });\n    await request.prepare?.(task.fold.generation);\n    return undefined;',
      },
    ],
    caughtBy: pushing('the push config of a message owes all its news if the process dies'),
  },
  {
    name: 'push-claim-of-two',
    rule: 'a sender claims the config, if no claim stands',
    file: items,
    edits: [{ find: ', ...isDueBy(atMs), notClaimedAfter(atMs)],', replace: '],' }],
    caughtBy: pushing('news of a task reach two senders at once only through one of them'),
  },
  {
    name: 'push-outside-of-claim',
    rule: 'a sender sends only within its claim',
    file: delivery,
    edits: [{ find: 'if (this.#deps.clock.nowMs() + pushTimeoutMs > this.#claimUntilMs) return false;', replace: '' }],
    caughtBy: pushing('news of a task are not sent by a sender that was frozen'),
  },
  {
    name: 'push-cursor-of-a-replaced-config',
    rule: 'the cursor moves only on the config that was claimed',
    file: items,
    edits: [{ find: 'conditions: [writerIs(claim.writerId), cursorIs(from)],', replace: 'conditions: [],' }],
    caughtBy: pushing('news of a task that are queued are dropped when their config is replaced'),
  },
  {
    name: 'push-not-owed',
    rule: 'a turn notes what it owes before its own markers go',
    file: raise,
    edits: [{ find: 'if (open.length === 0) return;', replace: 'if (open.length >= 0) return;' }],
    caughtBy: pushing('news of a task are pushed in order'),
  },
  {
    name: 'push-marker-goes-early',
    rule: 'a marker goes only if nothing more is owed',
    file: items,
    edits: [
      {
        find: 'conditions: [writerIs(claim.writerId), cursorIs(from), notOwedBeyond(cursor)],',
        replace: 'conditions: [writerIs(claim.writerId), cursorIs(from)],',
      },
    ],
    caughtBy: pushing('news of a task that are owed while the last one is sent come too'),
  },
  {
    name: 'push-of-parts',
    rule: 'artifacts are pushed when they are complete',
    file: news,
    edits: [{ find: 'if (!event.lastChunk) return undefined;', replace: '' }],
    caughtBy: pushing('news of a task are pushed in order'),
  },
  {
    name: 'push-of-the-end-alone',
    rule: 'artifacts that are never complete are pushed with the end',
    file: news,
    edits: [{ find: 'incomplete.size > 0 &&', replace: 'incomplete.size < 0 &&' }],
    caughtBy: pushing('news of a task end with the whole task'),
  },
  {
    name: 'push-for-ever',
    rule: 'a push that is a day old is passed over',
    file: delivery,
    edits: [{ find: 'nowMs - news.atMs >= pushAgeMaxMs', replace: 'news.atMs < 0' }],
    caughtBy: pushing('news of a task are passed over after a day'),
  },
  {
    name: 'push-after-gone',
    rule: '410 and 404 end the pushes of a config for good',
    file: fate,
    edits: [{ find: 'if (status === 404 || status === 410)', replace: 'if (status === 404)' }],
    caughtBy: pushing('news of a task end for good with'),
  },
  {
    name: 'push-refused-for-ever',
    rule: '401 and 403 end the pushes of a config after three',
    file: fate,
    edits: [{ find: 'refusals + 1 >= refusalsMax', replace: 'refusals < 0' }],
    caughtBy: pushing('news of a task end after three refusals'),
  },
  {
    name: 'push-given-up-never',
    rule: 'a push that is refused is given up',
    file: fate,
    edits: [{ find: 'if (status >= 400 && status < 500)', replace: 'if (status < 0)' }],
    caughtBy: pushing('news of a task that a receiver refuses otherwise'),
  },
  {
    name: 'push-follows-a-redirect',
    rule: 'a redirect is a failure',
    file: fate,
    edits: [{ find: 'status >= 200 && status < 300', replace: 'status >= 200 && status < 400' }],
    caughtBy: pushing('news of a task are sent again to a receiver that redirects'),
  },
  {
    name: 'push-secrets-read-back',
    rule: 'the secrets of a config are never read back',
    file: configs,
    edits: [{ find: 'scheme === undefined ? undefined : { scheme }', replace: 'authentication' }],
    caughtBy: pushing('a push config is read and listed without its secrets'),
  },
  {
    name: 'push-to-any-address',
    rule: 'the address of a config is checked when it is saved',
    file: 'lib/operations/push-url.ts',
    edits: [
      {
        find: 'if ((await pushSender?.allows(url, options)) !== true) return',
        replace: 'if (pushSender === undefined) return',
      },
    ],
    caughtBy: pushing('a push config that cannot be used'),
  },
  {
    name: 'push-to-a-slow-receiver-stays',
    rule: 'what is for a receiver that answers slowly is passed on',
    file: delivery,
    edits: [{ find: 'return !this.#pace.isPassedOn && this.#isSlow(nowMs);', replace: 'return false;' }],
    caughtBy: testsIn(
      'test/system/functions/handlers.test.ts',
      'work for a receiver of pushes that answers slowly is passed on',
    ),
  },
];

import { testsIn, type Mutant } from './mutant.js';

const command = 'test/unit/cli/try.test.ts';

export const tryingMutants: readonly Mutant[] = [
  {
    name: 'try-shows-credentials',
    rule: 'what is shown of the wire holds no credential',
    file: 'lib/remote/try/wire-tap.ts',
    edits: [{ find: 'return redactText(text, [...this.#secrets]);', replace: 'return text;' }],
    caughtBy: testsIn(command, 'outwait try: one real call shows no credential'),
  },
  {
    name: 'try-shows-token-requests',
    rule: '... and nothing of requests for tokens',
    file: 'lib/remote/try/wire-tap.ts',
    edits: [{ find: 'const isPrivate = holdsCredentials(request);', replace: 'const isPrivate = false;' }],
    caughtBy: testsIn(command, 'outwait try: one real call shows nothing of what is said to an authorization server'),
  },
  {
    name: 'try-leaves-task',
    rule: 'a task that is no longer waited for is cancelled',
    file: 'lib/remote/try/call.ts',
    edits: [{ find: 'const { kind } = await transport.cancel(handle);', replace: "const kind = 'done';" }],
    caughtBy: testsIn('test/unit/remote/try-call.test.ts', 'cancels the task when the time is over'),
  },
  {
    name: 'try-impatient-start',
    rule: 'the start that is tried may take as long as the call',
    file: 'lib/remote/try/call.ts',
    edits: [
      {
        find: 'idempotencyKey: options.idempotencyKey, untilMs }',
        replace: 'idempotencyKey: options.idempotencyKey }',
      },
    ],
    caughtBy: testsIn('test/unit/remote/try-call.test.ts', 'waits for the answer to the start'),
  },
  {
    name: 'try-deaf-to-ctrl-c',
    rule: 'a person may give up before the start is answered',
    file: 'lib/remote/try/call.ts',
    edits: [{ find: "if (signal.aborted) return { kind: 'start_given_up' };", replace: '' }],
    caughtBy: testsIn('test/unit/remote/try-call.test.ts', 'gives up a start'),
  },
  {
    name: 'try-error-is-success',
    rule: 'a result that is an error is not a success',
    file: 'lib/remote/try/call.ts',
    edits: [{ find: ' && !call.end.isError', replace: '' }],
    caughtBy: testsIn(command, 'outwait try: one real call tells how a call of'),
  },
  {
    name: 'history-of-empty-ends-alone',
    rule: 'what an agent said may be in the history, though its task has a status message',
    file: 'lib/remote/a2a/a2a-transport.ts',
    edits: [{ find: '!lacksArtifacts(reply.end)', replace: '!isEmptyEnd(reply.end)' }],
    caughtBy: testsIn(
      'test/system/zoo/zoo.test.ts',
      'what an agent of LangGraph said is in the history that its task is given: ',
    ),
  },
  {
    name: 'try-does-not-guess',
    rule: 'tools that look like a job are named as such',
    file: 'lib/remote/try/look-at-tools.ts',
    edits: [{ find: 'guesses: jobs === undefined ? [] : [jobs],', replace: 'guesses: [],' }],
    caughtBy: testsIn(command, 'outwait try: a look at a server has of plain tools a guess at jobs'),
  },
  {
    name: 'plain-text-is-no-reply',
    rule: 'a body that is the response is it, whatever its media type',
    file: 'lib/remote/rpc/exchange.ts',
    edits: [{ find: 'return isReply(read) || isJsonReply(head) ? read', replace: 'return isJsonReply(head) ? read' }],
    caughtBy: testsIn('test/system/zoo/zoo.test.ts', 'servers of others, as they were recorded F60-F66, F70, F72: '),
  },
];

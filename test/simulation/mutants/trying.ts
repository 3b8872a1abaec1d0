import { testsIn, type Mutant } from './mutant.js';

const command = 'test/unit/cli/try.test.ts';
const types = 'test/unit/cli/types.test.ts';
const schemaType = 'test/unit/cli/server-types/schema-type.test.ts';

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
  {
    name: 'types-comment-ends',
    rule: 'a description of a server does not end its comment',
    file: 'lib/cli/server-types/text.ts',
    edits: [{ find: ".replaceAll('*/', '* /')", replace: '' }],
    caughtBy: testsIn(schemaType, 'kept inside of its quotes: a description'),
  },
  {
    name: 'types-follow-loops',
    rule: 'a schema that refers to itself is followed once',
    file: 'lib/cli/server-types/schema-type.ts',
    edits: [{ find: 'if (walk.open.has(ref))', replace: 'if (walk.open.has(ref) && walk.depth > 10)' }],
    caughtBy: testsIn(schemaType, 'the type of a reference that comes back to itself, once'),
  },
  {
    name: 'types-without-bound',
    rule: 'a schema that grows with each reference is any value',
    file: 'lib/cli/server-types/schema-type.ts',
    edits: [
      { find: 'const partsMax = 2_000;', replace: 'const partsMax = 20_000;' },
      { find: 'text.length <= typeMaxChars', replace: 'text.length > 0' },
    ],
    caughtBy: testsIn(schemaType, 'the type of more members than are read'),
  },
  {
    name: 'types-first-page',
    rule: 'the pages of a list of tools are followed',
    file: 'lib/remote/mcp/tool-pages.ts',
    edits: [{ find: 'while (cursor !== undefined && ', replace: 'while (cursor === null && ' }],
    caughtBy: testsIn(types, 'outwait types: the file has the tools and the skills of all servers'),
  },
  {
    name: 'types-hold-credentials',
    rule: 'what a server gives back of its credentials is not in the file',
    file: 'lib/cli/write-types.ts',
    edits: [{ find: 'name: names.clean(name),', replace: 'name,' }],
    caughtBy: testsIn(types, 'outwait types: the file sends the credentials'),
  },
  {
    name: 'types-of-job-start',
    rule: 'the result of a job is not that of the tool that starts it',
    file: 'lib/remote/try/offers.ts',
    edits: [{ find: '{ ...offer, outputSchema: undefined }', replace: 'offer' }],
    caughtBy: testsIn(types, 'outwait types: the file leaves out what a tool gives that starts a job'),
  },
];

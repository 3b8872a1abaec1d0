import { testsIn, type Mutant } from './mutant.js';

const deliver = 'lib/remote/a2a/deliver-answer.ts';
const answering = (test: string) =>
  testsIn('test/engine/serve/generations.test.ts', `CF-13: an answer over JSONRPC 1.0 ${test}`);

export const generationsMutants: readonly Mutant[] = [
  {
    name: 'answer-of-any-generation',
    rule: 'an answer names the generation that was read with its question',
    file: deliver,
    edits: [{ find: 'await task.send(generation)', replace: 'await task.send(generation && undefined)' }],
    caughtBy: answering('is not given to the next question'),
  },
  {
    name: 'answer-refused-for-its-generation',
    rule: 'an answer to an older generation is sent again if its question is still open',
    file: deliver,
    edits: [{ find: 'if (hasChanged(exchange)) {', replace: 'if (hasChanged(exchange) && attempt === 0) {' }],
    caughtBy: answering('is sent again'),
  },
  {
    name: 'answer-to-what-was-not-read',
    rule: 'the task is read again after a mismatch',
    file: deliver,
    edits: [
      {
        find: 'seen = await task.read(generation);',
        replace: 'seen = { ...seen, generation: (generation ?? 0) + 2 } as PollReply;',
      },
    ],
    caughtBy: answering('is not given to the next question'),
  },
  {
    name: 'generation-in-the-message',
    rule: 'the generation that a message names is no part of it',
    file: 'lib/serve/a2a/send-request.ts',
    edits: [{ find: 'const message = withoutGeneration(came.message);', replace: 'const { message } = came;' }],
    caughtBy: testsIn('test/unit/serve/a2a/generations.test.ts', 'a generation that a message names is no part'),
  },
];

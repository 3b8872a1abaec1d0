import { askPerson, type InputHandler } from 'outwait';
import { expect, it } from 'vitest';
import type { Log } from '../../lib/base/log.js';
import type { RemoteQuestion } from '../../lib/history/remote-question.js';
import type { AnswerReply, PollReply } from '../../lib/remote/transport.js';
import { aFlow, eventTypes, started, WatchedServer } from './support.js';

/** A server that shows these questions at its reads, whatever the answers were, and the last of them for ever. */
class Insistent extends WatchedServer {
  readonly given: { readonly key: string; readonly content: unknown }[] = [];

  constructor(shown: readonly (readonly RemoteQuestion[])[]) {
    const read = (at: number): PollReply => ({
      kind: 'working',
      state: 'input_required',
      questions: shown[Math.min(at, shown.length) - 1] ?? [],
    });
    super({ read });
  }

  override async answer(...[, question, answer]: Parameters<WatchedServer['answer']>): Promise<AnswerReply> {
    this.given.push({ key: question.key, content: answer.action === 'accept' ? answer.content : answer.action });
    return { kind: 'done' };
  }
}

const asks = (key: string, message = `${key}?`): RemoteQuestion => ({ key, kind: 'form', message });
const flow = (onInput: InputHandler) =>
  aFlow((ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 }, onInput }));
const echoing = flow(({ message }) => ({ action: 'accept', content: message }));

it('MCP-39 a question that is seen at three reads is asked once, answered once, and not again while it still shows', async () => {
  const server = new Insistent([[asks('a')]]);
  const run = await started(flow(askPerson()), { reports: server });
  await run.app.pass({ minutes: 2 });
  expect(server.reads).toBeGreaterThanOrEqual(3);
  const inputs = await run.app.inputs();
  expect(inputs).toHaveLength(1);
  await run.app.answer(inputs[0]?.inputId ?? '', { action: 'accept', content: {} });
  await run.app.pass({ minutes: 20 });
  expect(server.given).toHaveLength(1);
  expect(await run.app.inputs()).toEqual([]);
});

it('MCP-40 of two questions the one is answered before the other, and one that comes later is a new one', async () => {
  const server = new Insistent([[asks('a'), asks('b')], [asks('b')], [asks('b'), asks('c')]]);
  const run = await started(flow(askPerson()), { reports: server });
  await run.app.pass({ seconds: 8 });
  const first = await run.app.inputs();
  expect(first.map(({ message }) => message)).toEqual(['a?', 'b?']);
  await run.app.answer(first[1]?.inputId ?? '', { action: 'accept', content: 2 });
  await run.app.pass({ minutes: 5 });
  expect(server.given).toEqual([{ key: 'b', content: 2 }]);
  expect((await run.app.inputs()).map(({ message }) => message)).toEqual(['a?', 'c?']);
});

it('MCP-41 a key that now asks something else is not answered again, and is said in the log', async () => {
  const warned: string[] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (event) => void warned.push(event),
    error: () => undefined,
  };
  const server = new Insistent([[asks('a', 'Delete one row?')], [asks('a', 'Delete everything?')]]);
  const run = await started(echoing, { reports: server }, { log });
  await run.app.pass({ minutes: 10 });
  expect(server.given).toEqual([{ key: 'a', content: 'Delete one row?' }]);
  expect(warned).toContain('a remote question changed; its first form stays');
});

it('asks of one call no more than 64 questions', async () => {
  const server = new Insistent([Array.from({ length: 200 }, (_, n) => asks(`q${n}`))]);
  const run = await started(echoing, { reports: server });
  await run.app.pass({ minutes: 10 });
  expect(server.given).toHaveLength(64);
  expect((await eventTypes(run)).filter((type) => type === 'RemoteQuestionAsked')).toHaveLength(64);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const asks = defineWorkflow({
  name: 'asks',
  run: (ctx) => ctx.ask({ message: 'Ship \u001b[31mit?', timeout: { days: 3 } }),
});

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [asks] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());

const ask = (...args: readonly string[]) => run(...args, '--url', engine.url);

async function anInput(): Promise<string> {
  const runId = /[0-9a-f]{32}/.exec((await ask('start', 'asks')).out)![0];
  await eventually(async () => {
    expect((await ask('why', runId)).out).toContain(`outwait answer ${runId}.1`);
  });
  return `${runId}.1`;
}

describe('outwait inputs and answer', () => {
  it('list a question without what would change the terminal, and answer it once', async () => {
    const inputId = await anInput();
    const list = await ask('inputs');
    expect(list.code).toBe(0);
    expect(list.out).toContain(inputId);
    expect(list.out).not.toContain('\u001b');
    expect(await ask('answer', inputId, '--content', '{"ok":true}')).toEqual({ code: 0, out: 'answered\n', err: '' });
    expect(await ask('answer', inputId, '--decline')).toEqual({
      code: 1,
      out: 'not answered: already_settled\n',
      err: '',
    });
    expect((await ask('inputs', '--json')).out).not.toContain(inputId);
  });

  it('are shown by why, with the deadline once', async () => {
    const inputId = await anInput();
    const [runId = ''] = inputId.split('.');
    expect((await ask('why', runId)).out).toMatch(
      /^waits for {2}external, question, ".*" \(outwait answer [0-9a-f]{32}\.1\), since \S+, deadline \S+ \(wait 1\)$/m,
    );
  });

  it.each([
    ['no answer', (id: string) => ['answer', id]],
    ['two answers', (id: string) => ['answer', id, '--accept', '--decline']],
    ['content that is no JSON', (id: string) => ['answer', id, '--content', '{']],
    ['an id that is none', () => ['answer', 'x', '--decline']],
  ])('end with 2 for %s', async (_, args) => {
    const result = await ask(...args(`${'0'.repeat(32)}.1`));
    expect(result.code).toBe(2);
  });

  it('end with 1 for a question that does not exist', async () => {
    const result = await ask('answer', `${'0'.repeat(32)}.1`, '--decline');
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toContain('no question has this id');
  });
});

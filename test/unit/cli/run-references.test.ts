import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const asks = (name: string) =>
  defineWorkflow({
    name,
    run: async (ctx) => {
      ctx.onQuery('state', () => 'asking');
      await ctx.ask({ message: 'Go on?' });
      return ctx.signal('go');
    },
  });

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [asks('orders'), asks('refunds')] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());

const ask = (...args: readonly string[]) => run(...args, '--url', engine.url);
const start = async (...args: readonly string[]): Promise<string> => (await ask('start', ...args)).out.trim();

describe('a run is named on the command line (F45)', () => {
  it('by its own id, wherever a run id is taken', async () => {
    const runId = await start('orders', '--id', 'order-4711');
    await eventually(async () => {
      expect((await ask('inputs', '--json')).out).toContain(runId);
    });
    expect((await ask('show', 'order-4711')).out).toContain(`run        ${runId}\n`);
    expect((await ask('why', 'order-4711')).out).toContain(`outwait answer ${runId}.1`);
    expect((await ask('history', 'order-4711', '--json')).out).toContain(runId);
    expect(await ask('waits', '--run', 'order-4711')).toMatchObject({ code: 0, out: 'no waits\n' });
    expect((await ask('query', 'order-4711', 'state')).out).toBe('"asking"\n');
    for (const command of ['pause', 'resume', 'retry-now'])
      expect(await ask(command, 'order-4711')).toMatchObject({ code: 0, out: 'accepted\n' });
    expect(await ask('answer', 'order-4711.1', '--accept')).toMatchObject({ code: 0, out: 'answered\n' });
    expect(await ask('signal', 'order-4711', 'go')).toMatchObject({ code: 0, out: 'accepted\n' });
    expect((await ask('watch', 'order-4711')).out).toContain('run ended: completed');
    expect(await ask('cancel', 'order-4711')).toMatchObject({ code: 1, out: 'not accepted: the run has ended\n' });
    expect(await ask('settle', 'order-4711', '1', '--error', 'x')).toMatchObject({ code: 1 });
  });

  it('by the workflow too, where two have the same own id; without it, both are listed', async () => {
    const order = await start('orders', '--id', 'same/id');
    const refund = await start('refunds', '--id', 'same/id');
    expect(await ask('cancel', 'same/id')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        new RegExp(
          '^outwait: "same/id" is ambiguous; give more of the run id, or <workflow>/<id>\n' +
            `RUN +WORKFLOW +STATUS +STARTED +ID\n${order}  orders +running +\\S+Z  same/id\n${refund}  refunds +running +\\S+Z  same/id\n$`,
        ),
      ) as unknown,
    });
    const { err } = await ask('cancel', 'same/id', '--json');
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'RUN_AMBIGUOUS', details: { runs: [{ runId: order }, { runId: refund }] } },
    });
    expect((await ask('show', 'refunds/same/id')).out).toContain(refund);
  });

  it('by the first characters of its run id, at least six', async () => {
    const runId = await start('orders');
    expect((await ask('show', runId.slice(0, 12))).out).toContain(`run        ${runId}\n`);
    expect(await ask('terminate', runId.slice(0, 12))).toMatchObject({ code: 0, out: 'accepted\n' });
    expect(await ask('show', runId.slice(0, 5))).toEqual({
      code: 1,
      out: '',
      err: `outwait: no run has the id "${runId.slice(0, 5)}", nor a run id that begins so with at least 6 characters (RUN_NOT_FOUND)\n`,
    });
  });

  it('and by nothing else', async () => {
    const { err } = await ask('show', '../../keys', '--json');
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'RUN_NOT_FOUND' } });
    expect(await ask('show', '?status=running')).toMatchObject({ code: 1, out: '' });
  });
});

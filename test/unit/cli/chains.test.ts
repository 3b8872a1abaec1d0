import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const rounds = defineWorkflow<{ round: number; fail?: boolean }>({
  name: 'rounds',
  run: async (ctx, { round, fail }) => {
    if (round < 3) return ctx.continueAsNew({ round: round + 1, ...(fail === true ? { fail } : {}) });
    if (fail === true) throw new Error('the third fails');
    return `round ${round}`;
  },
});

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [rounds] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());

const ask = (...args: readonly string[]) => run(...args, '--url', engine.url);

describe('F14 the commands and a run that goes on as others', () => {
  it('start --wait waits for the end of the last, and says both ids', async () => {
    const { code, out } = await ask('start', 'rounds', '--input', '{"round":1}', '--wait');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^[0-9a-f]{32}\ncontinued as [0-9a-f]{32}\ncompleted: "round 3"\n$/),
    ]);
    const asJson = await ask('start', 'rounds', '--input', '{"round":1}', '--wait', '--json');
    const run = JSON.parse(asJson.out) as { runId: string; startedRunId: string; outcome: unknown };
    expect(run).toMatchObject({ outcome: { status: 'completed', result: 'round 3' } });
    expect(run.startedRunId).toMatch(/^[0-9a-f]{32}$/);
    expect(run.startedRunId).not.toBe(run.runId);
  });

  it('start --wait of one run names no other', async () => {
    const { code, out } = await ask('start', 'rounds', '--input', '{"round":3}', '--wait');
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f]{32}\ncompleted: "round 3"\n$/)]);
  });

  it('start --wait ends with 1 if the last fails', async () => {
    const { code, out } = await ask('start', 'rounds', '--input', '{"round":1,"fail":true}', '--wait');
    expect([code, out]).toEqual([1, expect.stringContaining('failed: the third fails')]);
  });

  it('watch prints the events of all of them', async () => {
    const { out: runId } = await ask('start', 'rounds', '--input', '{"round":1}');
    const watched = await ask('watch', runId.trim());
    expect(watched.code).toBe(0);
    expect(watched.out.match(/run started/g)).toHaveLength(3);
    expect(watched.out).toContain('completed: "round 3"');
  });

  it('show names the next run', async () => {
    const { out: runId } = await ask('start', 'rounds', '--input', '{"round":1}');
    await ask('watch', runId.trim());
    expect((await ask('show', runId.trim())).out).toMatch(/outcome +continued as [0-9a-f]{32}/);
  });
});

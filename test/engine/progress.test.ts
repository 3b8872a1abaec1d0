import type { TaskProgress, WorkflowContext } from 'outwait';
import { scriptedServer, type ScriptedState } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { aFlow, started, startMs } from './support.js';

const states: readonly ScriptedState[] = [
  { from: { seconds: 0 }, state: 'submitted' },
  { from: { seconds: 8 }, state: 'working', message: 'reading', progress: 0, total: 3 },
  { from: { minutes: 2 }, state: 'working', message: 'counting', progress: 1, total: 3 },
  { from: { minutes: 4 }, state: 'working', message: 'writing', progress: 2, total: 3 },
];
const aTask = (shown = states) =>
  scriptedServer({ protocol: 'a2a', task: () => ({ after: { minutes: 6 }, result: 'done', states: shown }) });

/** A flow that calls the task, and returns what its handler has heard. */
const hearing = (onProgress: (shown: TaskProgress, heard: string[], ctx: WorkflowContext) => Promise<void> | void) =>
  aFlow(async (ctx) => {
    const heard: string[] = [];
    await ctx.callRemoteTask({
      ...{ server: 'supplier', skill: 'order' },
      onProgress: (shown, inner) => onProgress(shown, heard, inner),
    });
    return heard;
  });

describe('the trail of a remote task (S2-21)', () => {
  it('has each change that a read shows, and stays when the wait has ended', async () => {
    const flow = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'order' })).result);
    const { app, runId } = await started(flow, { supplier: aTask() });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed' });
    const token = await app.deps.store.tokens.read(runId, '1');
    expect(token?.trail?.changes.map(({ state, message, progress }) => [state, message, progress])).toEqual([
      ['submitted', undefined, undefined],
      ['working', 'reading', 0],
      ['working', 'counting', 1],
      ['working', 'writing', 2],
      ['completed', undefined, undefined],
    ]);
    expect(token?.trail).toMatchObject({ count: 5 });
    expect(token?.trail?.changes[1]?.atMs).toBe(startMs + 10_000);
  });
});

describe('onProgress of a call', () => {
  it('hears of each change in order, before the call ends, and a replay hears the same', async () => {
    const flow = hearing(({ state, message, progress, total }, heard) => {
      heard.push(`${state} ${message ?? '-'} ${progress ?? '-'}/${total ?? '-'}`);
    });
    const { app, runId } = await started(flow, { supplier: aTask() });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['submitted - -/-', 'working reading 0/3', 'working counting 1/3', 'working writing 2/3'],
    });
  });
});

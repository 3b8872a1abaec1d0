import { describe, expect, it } from 'vitest';
import type { Until } from '../../../../lib/serve/tasks.js';
import { ScriptedTasks } from '../../../support/scripted-tasks.js';
import { aMessage, anAgent } from './agent.js';

describe('the reply to the answer of a question', () => {
  it.each([
    ['SendMessage', true, undefined],
    ['SendMessage', false, 25_000],
    ['SendStreamingMessage', false, 25_000],
  ])('%s, returnImmediately %s: waits for it to be taken in for %s ms', async (method, returnImmediately, waitMs) => {
    const tasks = new ScriptedTasks((taskId, _request, all) => {
      all.status(taskId, 'input-required');
    });
    const asked: (Until | undefined)[] = [];
    const ann = tasks.of('ann');
    const agent = anAgent(undefined, {
      clock: { nowMs: () => tasks.nowMs },
      admit: () => ({
        tasks: {
          ...ann,
          send: async (request, until) => {
            asked.push(until);
            return ann.send(request, until);
          },
        },
      }),
    });
    await (await agent.rpcResponse(method, aMessage('yes', {}, { returnImmediately }))).text();
    expect(asked.map((until) => until && until.untilMs - tasks.nowMs)).toEqual([waitMs]);
  });
});

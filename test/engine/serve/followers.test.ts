import { describe, expect, it } from 'vitest';
import type { Deps } from '../../../lib/operations/deps.js';
import type { Followed } from '../../../lib/serve/tasks.js';
import { ServedApp } from './served-app.js';

interface Round {
  readonly round?: number;
}

/** Follows a task, as a process of its own, until it ends. */
async function follow(served: ServedApp, taskId: string, afterGeneration?: number): Promise<readonly Followed[]> {
  const got: Followed[] = [];
  const { signal } = new AbortController();
  const options = afterGeneration === undefined ? { signal } : { afterGeneration, signal };
  for await (const one of served.tasks.follow(taskId, options)) got.push(one);
  return got;
}

const generationsOf = (got: readonly Followed[]): readonly number[] =>
  got.map((one) => (one.kind === 'snapshot' ? one.task.generation : one.generation));

describe('a follower of a task', () => {
  const continues = () =>
    new ServedApp(async (ctx, input) => {
      const { round = 1 } = input as Round;
      ctx.progress(`a${round}`);
      ctx.progress(`b${round}`);
      await ctx.sleep({ minutes: 1 });
      return round === 1 ? ctx.continueAsNew({ round: 2 }) : undefined;
    });

  it('is told of each change once, in order, also by the next run', async () => {
    const served = continues();
    const taskId = await served.start();
    const following = follow(served, taskId);
    await served.app.pass({ minutes: 10 });
    const got = await following;
    expect(generationsOf(got)).toEqual([4, 5, 6, 7]);
    expect(got.at(-1)).toMatchObject({ kind: 'status', status: { state: 'completed' } });
  });

  it('comes back after any change, and is sent those after it only, of a task that has ended too', async () => {
    const served = continues();
    const taskId = await served.start();
    await served.app.pass({ minutes: 10 });
    const last = (await served.tasks.read(taskId)).generation;
    for (let after = 1; after < last; after++)
      expect(generationsOf(await follow(served, taskId, after)), `after ${after}`).toEqual(
        Array.from({ length: last - after }, (_, at) => after + 1 + at),
      );
    await expect(follow(served, taskId, last)).rejects.toMatchObject({ code: 'TASK_ENDED' });
  });

  it('is told what the log says, whatever the head says', async () => {
    const served = new ServedApp(async (ctx) => ctx.ask({ to: 'caller', message: 'Which?' }));
    const taskId = await served.start();
    const { deps } = served.app as unknown as { readonly deps: Deps };
    const head = (await deps.store.heads.read(taskId))!;
    const hints = await deps.store.servedTasks();
    await hints.setHint({ ...head, task: head.task! }, { state: 'completed', atMs: deps.clock.nowMs() + 1 });
    expect((await served.tasks.read(taskId)).status.state).toBe('input-required');
    const following = follow(served, taskId);
    await served.tasks.send({ taskId, message: served.message('blue') });
    await served.app.pass({ minutes: 1 });
    expect(generationsOf(await following)).toEqual([3, 4, 5, 6]);
  });
});

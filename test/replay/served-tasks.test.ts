import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import type { Deps } from '../../lib/operations/deps.js';
import { askToStop } from '../../lib/operations/requests/stop-run.js';
import { readTask } from '../../lib/operations/serve/read-task.js';
import { createTasks } from '../../lib/operations/serve/tasks.js';
import type { ServedTask, TaskEvent } from '../../lib/serve/task/served-task.js';
import type { ServeConfig } from '../../lib/workflow/serve.js';
import { MortalEngine, type Fault } from './mortal-engine.js';

const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does things' },
  skills: { talk: { description: 'Talks' } },
};
const caller = { id: 'ann', roles: ['call'] } as const;

/** Asks its caller, shows an artifact in two pieces, and reads three messages, the last ones in a second run. */
async function talk(ctx: WorkflowContext, input: { readonly read?: readonly unknown[] }): Promise<unknown> {
  const read = [...(input.read ?? [])];
  if (read.length === 0) {
    ctx.progress('asking');
    const answer = await ctx.ask({ to: 'caller', message: 'Which?' });
    ctx.artifact({ artifactId: 'rows', text: 'a', append: true });
    await ctx.sleep({ seconds: 5 });
    ctx.artifact({ artifactId: 'rows', text: 'b', append: true, lastChunk: true });
    read.push(answer.action === 'accept' ? answer.content : answer.action);
  }
  for await (const { parts } of ctx.messages()) {
    read.push(parts);
    if (read.length === 2) await ctx.continueAsNew({ read });
    ctx.progress(`read ${read.length}`);
    if (read.length === 4) return read;
  }
  return undefined;
}

interface Told {
  readonly task: ServedTask;
  readonly past: readonly TaskEvent[];
}

class Conversation {
  readonly engine: MortalEngine;
  readonly told: Told[] = [];
  taskId = '';

  constructor(fault?: Fault) {
    const app = defineApp({ workflows: [defineWorkflow({ name: 'talk', run: talk })] });
    this.engine = new MortalEngine({ app, servers: {}, seed: 1, ...(fault === undefined ? {} : { fault }) });
  }

  /** Sends a message; a caller whose process dies sends it again. */
  async send(messageId: string, text?: string): Promise<void> {
    const message = { messageId, role: 'user', parts: text === undefined ? [{ data: {} }] : [{ text }] } as const;
    const start = { skill: 'talk', arguments: {}, key: 'k' };
    await this.#asCaller(async (deps) => {
      const to = this.taskId === '' ? start : { taskId: this.taskId };
      this.taskId = (await createTasks(deps, serve).send({ message, ...to })).taskId;
    });
  }

  async cancel(): Promise<void> {
    // The caller of `cancelTask` would wait for the end, for which time has to pass.
    await this.#asCaller((deps) => askToStop(deps, { runId: this.taskId, kind: 'cancel', requestId: 'task' }));
  }

  /** Moves time, and notes what the caller then sees. */
  async moveTo(seconds: number): Promise<void> {
    await this.engine.moveTo(seconds);
    await this.engine.invoke(async (deps) => {
      const { fold, past } = await readTask({ ...deps, caller }, this.taskId);
      this.told.push({ task: fold.task, past });
    });
  }

  async #asCaller(act: (deps: Deps) => Promise<unknown>): Promise<void> {
    await this.engine.invoke((deps) => act({ ...deps, caller }));
  }
}

async function converse(fault?: Fault, cancelAt?: number): Promise<Conversation> {
  const talking = new Conversation(fault);
  const acts = [
    () => talking.send('m0'),
    () => talking.send('m1', 'blue'),
    () => talking.send('m2', 'one'),
    () => talking.send('m3', 'two'),
    () => talking.send('m4', 'three'),
  ];
  for (const [number, act] of acts.entries()) {
    if (number === cancelAt) await talking.cancel();
    else if (cancelAt === undefined || number < cancelAt) await act();
    await talking.moveTo((number + 1) * 180);
  }
  await talking.moveTo(3_600);
  return talking;
}

/** Checks what holds of everything that a caller is told, whatever happens. */
function expectPromises({ told }: Conversation, where: string): void {
  for (const [number, { task, past }] of told.entries()) {
    const generations = past.map(({ generation }) => generation);
    expect(generations, `each event has the next generation, ${where}`).toEqual(past.map((_, at) => at + 2));
    expect(task.generation, where).toBe(past.length + 1);
    const before = told[number - 1]?.past ?? [];
    expect(past.slice(0, before.length), `what was seen does not change, ${where}`).toEqual(before);
    const ids = task.history.map(({ messageId }) => messageId);
    expect(new Set(ids).size, `no message twice, ${where}`).toBe(ids.length);
  }
}

/** Returns what the caller has at the end, without instants. */
function endOf({ told }: Conversation) {
  const { task } = told.at(-1)!;
  const { status, artifacts, history } = task;
  return { state: status.state, artifacts, said: history.map(({ role, parts }) => ({ role, parts })) };
}

describe('a served task whose processes die (serving.md section 2)', () => {
  it('tells its caller the same, each change once, with a death before any call', { timeout: 300_000 }, async () => {
    const calm = await converse();
    expectPromises(calm, 'calm');
    expect(endOf(calm).state).toBe('completed');
    for (let at = 0; at < calm.engine.calls.length; at++) {
      const where = `death at call ${at}, ${calm.engine.calls[at] ?? ''}`;
      const ended = await converse({ kind: 'death', at });
      expectPromises(ended, where);
      expect(endOf(ended), where).toEqual(endOf(calm));
    }
  });

  it('tells its caller the same if two owners run one turn (A2A-S1, A2A-S2)', { timeout: 300_000 }, async () => {
    const calm = await converse();
    for (const at of calm.engine.callsOfTurns) {
      const where = `second owner at call ${at}, ${calm.engine.calls[at] ?? ''}`;
      const ended = await converse({ kind: 'secondOwner', at });
      expectPromises(ended, where);
      expect(endOf(ended), where).toEqual(endOf(calm));
    }
  });

  it('ends canceled after a cancel at any point of the conversation', { timeout: 300_000 }, async () => {
    for (let cancelAt = 1; cancelAt < 5; cancelAt++) {
      const calm = await converse(undefined, cancelAt);
      expect(endOf(calm).state, `cancel ${cancelAt}`).toBe('canceled');
      for (let at = 0; at < calm.engine.calls.length; at += 3) {
        const ended = await converse({ kind: 'death', at }, cancelAt);
        expectPromises(ended, `cancel ${cancelAt}, death at call ${at}`);
        expect(endOf(ended).state, `cancel ${cancelAt}, death at call ${at}`).toBe('canceled');
      }
    }
  });
});

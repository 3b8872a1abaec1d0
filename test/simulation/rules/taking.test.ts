import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import type { OpenRemoteTask } from '../../../lib/history/run-state.js';
import type { TokenOutcome } from '../../../lib/history/settlement.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { recordHandle, type KnownTask } from '../../../lib/operations/remote-task/record-handle.js';
import type { CancelReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { StartRemoteTask } from '../../../lib/replay/command.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// The fate of a remote task's handle once it is known.

const runId = '00'.repeat(16);
const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't1' } as const;
const token: TokenRecord = {
  ...{ runId, waitId: '1', server: 'reports', attempt: 1, writerId: 'w', createdAtMs: startMs },
  ...{ deadlineAtMs: startMs + 3_600_000, pollErrors: 0 },
};
const question = { key: 'q', kind: 'form', message: 'Release?' } as const;
type Policies = Partial<Pick<StartRemoteTask, 'onCancel' | 'onTimeout' | 'answersQuestions'>>;

/** A wait whose start has just been answered; `ended`: it was closed in that way meanwhile. */
class Taking {
  readonly cancels: string[] = [];
  readonly table = new MemoryTable();
  readonly store = new RunStore(this.table);
  readonly sent: string[] = [];
  cancelReply: CancelReply = { kind: 'done' };
  isFoundAgain = false;
  readonly #command: StartRemoteTask;

  constructor(policies: Policies = {}) {
    const command = {
      server: 'reports',
      onCancel: 'cancel',
      onTimeout: 'cancel',
      answersQuestions: false,
      ...policies,
    };
    this.#command = command as StartRemoteTask;
  }

  static async of(policies: Policies = {}, ended?: TokenOutcome['kind']): Promise<Taking> {
    const taking = new Taking(policies);
    await taking.store.tokens.put(token);
    const outcome = { kind: ended } as TokenOutcome;
    if (ended !== undefined)
      await taking.store.tokens.settle(runId, '1', { writerId: 's', atMs: startMs, by: 'timeout', outcome });
    return taking;
  }

  async take(
    reply: Omit<Parameters<typeof recordHandle>[2], 'handle'> = {},
    options?: Parameters<typeof recordHandle>[3],
  ): Promise<TokenRecord | string> {
    const transport: Pick<RemoteTaskTransport, 'cancel'> = {
      cancel: async ({ taskId }) => {
        this.cancels.push(taskId);
        return this.cancelReply;
      },
    };
    const deps: Deps = {
      ...createTestApp(anApp(aFlow(async () => undefined))).deps,
      store: this.store,
      delay: async () => undefined,
      queues: {
        sendTurn: async () => undefined,
        sendWork: async (message, delayMs) => void this.sent.push(`${message.kind} in ${delayMs / 1_000}`),
        sendStep: async () => undefined,
        sendStart: async () => undefined,
      },
    };
    const wait = { waitId: '1', deadlineAtMs: token.deadlineAtMs } as OpenRemoteTask;
    const persist: KnownTask['persist'] = (request) => request();
    const { isFoundAgain } = this;
    const task = { runId, wait, command: this.#command, transport, token, isFoundAgain, persist } as KnownTask;
    return recordHandle(deps, task, { handle, ...reply }, options).catch(
      (error: unknown) => (error as EngineError).code,
    );
  }

  async orphans(): Promise<number> {
    return (await this.store.lists.orphans(10)).rows.length;
  }
}

test('first read of a task: as soon as the server says, in five seconds if it says nothing, at once if it has ended', async () => {
  const said = await Taking.of();
  expect(await said.take({ pollAfterMs: 20_000 })).toMatchObject({ dueAtMs: startMs + 20_000, pollHintMs: 20_000 });
  expect(said.sent).toEqual(['poll in 20']);
  const silent = await (await Taking.of()).take();
  expect(silent).toMatchObject({ dueAtMs: startMs + 5_000 });
  expect(silent).not.toHaveProperty('pollHintMs');
  const over = await (await Taking.of()).take({ pollAfterMs: 0 });
  expect(over).toMatchObject({ dueAtMs: startMs });
  expect(over).not.toHaveProperty('pollHintMs');
});

test('questions that come with the handle: of a call that answers some', async () => {
  const asked = { questions: [question] };
  expect(await (await Taking.of({ answersQuestions: true })).take(asked)).toMatchObject({
    questions: { list: [question] },
  });
  expect(await (await Taking.of({ answersQuestions: false })).take(asked)).not.toHaveProperty('questions');
  expect(await (await Taking.of({ answersQuestions: true })).take()).not.toHaveProperty('questions');
});

test('task of a wait that was closed: it is cancelled, or left as its call says for that end', async () => {
  for (const [policies, ended, isCancelled] of [
    [{ onTimeout: 'leave' }, 'timed_out', false],
    [{ onCancel: 'leave' }, 'timed_out', true],
    [{ onTimeout: 'leave' }, 'abandoned', true],
    [{ onCancel: 'leave' }, 'abandoned', false],
  ] as const) {
    const taking = await Taking.of(policies, ended);
    await taking.take();
    expect([taking.cancels.length, await taking.orphans()]).toEqual(isCancelled ? [1, 0] : [0, 1]);
    expect(taking.sent).toEqual([]);
  }
});

test('task of a wait that was closed: a cancel that fails is left to the end effects, with the handle', async () => {
  const taking = await Taking.of({}, 'abandoned');
  taking.cancelReply = { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'busy' } };
  await taking.take();
  expect((await taking.store.tokens.read(runId, '1'))?.handle).toEqual(handle);
  expect(await taking.orphans()).toBe(0);
});

test('task that was found: one that came meanwhile stands, and it is cancelled only if the wait was closed', async () => {
  const known = await Taking.of();
  const other = { ...handle, taskId: 't0' };
  await known.store.starts.storeHandle(runId, '1', { handle: other, startedAtMs: startMs, dueAtMs: startMs });
  expect(await known.take({}, { found: true })).toMatchObject({ handle: other });
  expect(known.cancels).toEqual([]);
  const closed = await Taking.of({}, 'abandoned');
  await closed.take({}, { found: true });
  expect(closed.cancels).toEqual(['t1']);
});

test('store that takes no handle: the task is cancelled, unless its call leaves it or the next owner finds it again', async () => {
  for (const [policies, isFoundAgain, code, cancels] of [
    [{}, false, 'STORE_UNAVAILABLE', ['t1']],
    [{ onCancel: 'leave' }, false, 'STORE_UNAVAILABLE', []],
    [{}, true, 'STORE_UNAVAILABLE', []],
    [{}, true, 'INTERNAL', ['t1']],
  ] as const) {
    const taking = await Taking.of(policies);
    taking.isFoundAgain = isFoundAgain;
    taking.table.write = () => Promise.reject(new EngineError(code, 'gone'));
    expect([await taking.take(), taking.cancels]).toEqual([code, cancels]);
  }
});

import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { EngineError, type EngineErrorCode } from '../../../lib/base/errors.js';
import type { HistoryEvent } from '../../../lib/history/event.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { runLongStep } from '../../../lib/operations/steps/run-long-step.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import type { Write } from '../../../lib/store/table.js';
import type { WorkflowContext } from '../../../lib/workflow/context.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// Single attempts of a long step: what they need to begin, and what depends on their last write.

/** A table whose writes can be made to fail. */
class FailingTable extends MemoryTable {
  /** The code with which that many writes of settlements fail. */
  failing: { readonly code: EngineErrorCode; times: number } | undefined;
  tries = 0;
  /** Called with each claim of an attempt. */
  onClaim = (): void => undefined;

  override async write(write: Write) {
    if (write.kind === 'update' && write.set?.['stepStrikes'] === 1) this.onClaim();
    if (write.kind === 'update' && write.set?.['settledAtMs'] !== undefined) {
      this.tries++;
      if (this.failing !== undefined && this.failing.times-- > 0) throw new EngineError(this.failing.code, 'gone');
    }
    return super.write(write);
  }
}

/** A run whose first turn has requested a long step, its wait 1. */
class Asked {
  ran = 0;
  readonly table = new FailingTable();
  readonly store = new RunStore(this.table);
  runId = '';
  nowMs = startMs;
  readonly #deps: Deps;

  constructor(run: (ctx: WorkflowContext, work: () => string) => Promise<unknown>) {
    const work = (): string => {
      this.ran++;
      return 'done';
    };
    const { warmRuns: _, ...cold } = createTestApp(anApp(aFlow(async (ctx) => run(ctx, work)))).deps;
    // Beats come once a year, and a failed store call is retried at once.
    const delay: Deps['delay'] = async (ms) => (ms > 10_000 ? new Promise(() => undefined) : undefined);
    this.#deps = { ...cold, store: this.store, delay, clock: { nowMs: () => this.nowMs } };
  }

  static async by(run: (ctx: WorkflowContext, work: () => string) => Promise<unknown>, terms = {}): Promise<Asked> {
    const asked = new Asked(run);
    asked.runId = (await startRun(asked.#deps, { workflow: 'flow', key: 'k', ...terms })).runId;
    await runTurn(asked.#deps, { runId: asked.runId }, { remainingMs: () => 60_000 });
    return asked;
  }

  async terminate(): Promise<void> {
    await requestStop(this.#deps, { runId: this.runId, kind: 'terminate', requestId: 'r' });
  }

  async commit(...events: readonly HistoryEvent[]): Promise<void> {
    const seq = ((await this.store.runs.read(this.runId))?.commits.length ?? 0) + 1;
    await this.store.log.commit(this.runId, { seq, writerId: `w${seq}`, events });
  }

  /** Lets another worker claim the step. */
  async takeOver(): Promise<void> {
    const dueAtMs = (await this.store.tokens.read(this.runId, '1'))?.dueAtMs ?? 0;
    const claim = { writerId: 'another', strikes: 2, atMs: dueAtMs, leaseUntilMs: dueAtMs + 60_000 };
    await this.store.longSteps.claim(this.runId, '1', { seenDueAtMs: dueAtMs, ...claim });
  }

  async attempt(remainingMs = (): number => 900_000): Promise<string> {
    const dueAtMs = (await this.store.tokens.read(this.runId, '1'))?.dueAtMs ?? 0;
    const message = { runId: this.runId, waitId: '1', dueAtMs };
    return runLongStep(this.#deps, message, { remainingMs }).catch((error: unknown) => (error as EngineError).code);
  }
}
const long = async (ctx: WorkflowContext, work: () => string) => ctx.step('l', work, { long: true });

test('attempt of a run that is ending: it is not begun', async () => {
  const scene = await Asked.by(long);
  await scene.commit({ type: 'RunEnding', atMs: startMs, outcome: { status: 'terminated' } });
  expect([await scene.attempt(), scene.ran]).toEqual(['stale', 0]);
});

test('attempt of a run whose deadline has passed, or that is to be terminated: it is not begun', async () => {
  const late = await Asked.by(long, { timeoutMs: 10_000 });
  late.nowMs = startMs + 10_000;
  expect([await late.attempt(), late.ran]).toEqual(['put off', 0]);
  // The sweep returns to it until the run has ended.
  expect((await late.store.tokens.read(late.runId, '1'))?.dueAtMs).toBeDefined();
  late.nowMs = startMs + 9_999;
  expect([await late.attempt(), late.ran]).toEqual(['settled', 1]);

  const terminated = await Asked.by(long);
  await terminated.terminate();
  expect([await terminated.attempt(), terminated.ran]).toEqual(['put off', 0]);
});

test('attempt of a run whose deadline passes while it is claimed: it is not begun', async () => {
  const scene = await Asked.by(long, { timeoutMs: 10_000 });
  scene.table.onClaim = () => {
    scene.nowMs = startMs + 10_000;
  };
  expect([await scene.attempt(), scene.ran]).toEqual(['put off', 0]);
});

test('attempt of a step that has lost its race, and is not closed yet: it is not begun', async () => {
  const scene = await Asked.by(async (ctx, work) =>
    ctx
      .race([async (one) => long(one, work), async (other) => other.sleep({ seconds: 5 })])
      .then(() => ctx.sleep({ hours: 1 })),
  );
  await scene.commit({ type: 'TimerFired', atMs: startMs + 5_000, waitId: '2' });
  expect([await scene.attempt(), scene.ran]).toEqual(['stale', 0]);
});

test('failure of an attempt whose worker was taken for dead: another has the step by then, and it goes on', async () => {
  const scene: Asked = await Asked.by(async (ctx) =>
    ctx.step('l', async () => scene.takeOver().then(() => Promise.reject(new Error('too late'))), {
      long: true,
      retry: { maxAttempts: 1 },
    }),
  );
  expect(await scene.attempt()).toBe('lost');
  expect((await scene.store.tokens.read(scene.runId, '1'))?.settlement).toBeUndefined();
});

test('attempt that there is too little time for: it is put off, and none is counted', async () => {
  const scene = await Asked.by(async (ctx, work) => ctx.step('l', work, { long: true, timeout: { minutes: 5 } }));
  expect([await scene.attempt(() => 329_999), scene.ran]).toEqual(['put off', 0]);
  expect((await scene.store.tokens.read(scene.runId, '1'))?.step?.strikes).toBe(0);
  expect([await scene.attempt(() => 330_000), scene.ran]).toEqual(['settled', 1]);
});

test('result of an attempt: a store that fails for a while takes it all the same', async () => {
  for (const code of ['STORE_UNAVAILABLE', 'STORE_RESULT_UNKNOWN'] as const) {
    const scene = await Asked.by(long);
    scene.table.failing = { code, times: 5 };
    expect([await scene.attempt(), scene.ran, scene.table.tries]).toEqual(['settled', 1, 6]);
  }
});

test('result of an attempt: a store that stays away, or will never take it, is told of', async () => {
  const away = await Asked.by(async (ctx, work) => ctx.step('l', work, { long: true, timeout: { minutes: 5 } }));
  away.table.failing = { code: 'STORE_UNAVAILABLE', times: 200 };
  let remainingMs = 900_000;
  expect(await away.attempt(() => (remainingMs -= 10_000))).toBe('given up');
  expect(away.table.tries).toBeLessThan(100);
  const never = await Asked.by(long);
  never.table.failing = { code: 'INTERNAL', times: 99 };
  expect([await never.attempt(), never.table.tries]).toEqual(['INTERNAL', 1]);
});

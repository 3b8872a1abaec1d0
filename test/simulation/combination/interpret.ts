import type { JsonValue } from '../../../lib/base/json.js';
import type { Duration } from '../../../lib/base/time.js';
import type { ProgressHandler, WorkflowContext } from '../../../lib/workflow/context.js';
import type { StepContext } from '../../../lib/workflow/step-options.js';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';
import { serve } from './served/serve.js';
import type { Telling } from './telling.js';
import type { Program, SomeProgram, StepProgram } from './program.js';

/** The world in which programs run, as they see it. */
export interface Stage {
  /** Called when a workflow's code begins to run, for the first time or in a replay. */
  open(runId: string, input: Input): Telling;
  /** Runs an attempt of a step, by the world's clock. `attempt` is the number that the author's code sees. */
  work(runId: string, step: StepContext, work: Work): Promise<string>;
}

/** The work of a step. */
export interface Work {
  readonly program: StepProgram;
  readonly handle: StepHandle;
}

/** A step as seen by the code that requested it. */
export interface StepHandle {
  /** Called when the code learns that the step is no longer waited for. */
  gaveUp: (() => void) | undefined;
}

/** The input of a start. */
export interface Input {
  readonly round: number;
  /** The concurrency key. */
  readonly lane?: string;
  /** Identifies the start. */
  readonly n?: string;
}

/** Runs a program as an author would have written it, and records what the engine has promised it. */
export class Script {
  readonly #stage: Stage;
  readonly #telling: Telling;
  readonly #patched: boolean;
  readonly #kid: AnyWorkflow | undefined;
  #names = 0;
  /** Counted only by the later code. */
  #patches = 0;

  constructor(stage: Stage, telling: Telling, patched: boolean, kid: AnyWorkflow | undefined) {
    this.#stage = stage;
    this.#telling = telling;
    this.#patched = patched;
    this.#kid = kid;
  }

  async run(ctx: WorkflowContext, program: Program): Promise<JsonValue> {
    const telling = this.#telling;
    switch (program.kind) {
      case 'step':
        return this.#step(ctx, program);
      case 'sleep':
        return this.#leaf(ctx, async () => ctx.sleep(seconds(program.for)));
      case 'until':
        return this.#leaf(ctx, async () => ctx.sleepUntil(telling.instantMs(program.at)));
      case 'signal':
        return this.#leaf(ctx, async () => {
          const value = await ctx.signal(program.name, { timeout: seconds(program.timeout) });
          telling.gotSignal(program.name, value);
          return value;
        });
      case 'token':
        return this.#leaf(ctx, async () => {
          const { outcome } = await ctx.externalToken({ timeout: seconds(program.timeout) });
          return (await outcome).result;
        });
      case 'ask':
        return this.#leaf(
          ctx,
          async () =>
            (
              await ctx.ask({
                message: 'well?',
                timeout: seconds(program.timeout),
                to: 'desk',
                ...(program.told === 'both'
                  ? { remindAfter: { minutes: 1 }, escalate: { after: { minutes: 2 }, to: 'boss' } }
                  : {}),
              })
            ).action,
        );
      case 'remote': {
        const call = ctx.callRemoteTask({
          server: 'remote',
          tool: program.tool,
          timeout: seconds(program.timeout),
          ...(program.leave ? { onCancel: 'leave' as const } : {}),
          ...(program.hears === undefined ? {} : { onProgress: this.#hearing(program.hears) }),
        });
        if (program.leave) telling.asked('left call', call);
        return this.#leaf(ctx, async () => (await call).result);
      }
      case 'child': {
        if (this.#kid === undefined) return 'no kid';
        const options = { parentClose: program.close, timeout: seconds(program.timeout) };
        const child = ctx.child(this.#kid, { round: 0 }, options) as Promise<unknown>;
        if (program.close === 'abandon') telling.asked('abandoned child', child);
        return this.#leaf(ctx, () => child);
      }
      case 'random':
        return ctx.random();
      case 'progress':
      case 'artifact':
      case 'askCaller':
      case 'message':
      case 'reject': {
        const name = `${program.kind}-${++this.#names}`;
        return this.#leaf(ctx, async () => serve(ctx, program, { name, telling }), program.kind === 'reject');
      }
      case 'void': {
        this.run(ctx, program.body).catch(() => undefined);
        return 'void';
      }
      case 'seq':
      case 'all':
      case 'race':
      case 'plainRace':
        return this.#several(ctx, program);
      case 'some':
        return this.#some(ctx, program);
      case 'scope':
        return this.#scope(ctx, program);
      case 'shield': {
        const owed = telling.owes('shield');
        owed.begun();
        try {
          return await ctx.shield(async (inner) => this.run(inner, program.body));
        } finally {
          owed.settled();
        }
      }
      case 'finally':
        try {
          return await this.run(ctx, program.body);
        } finally {
          await this.run(ctx, program.cleanup);
        }
      case 'catch':
        try {
          return await this.run(ctx, program.body);
        } catch {
          return ['instead', await this.run(ctx, program.instead)];
        }
      case 'saga':
        return this.#saga(ctx, program);
      case 'loop': {
        const results: JsonValue[] = [];
        for (let round = 0; round < program.times; round++) results.push(await this.run(ctx, program.body));
        return results;
      }
      case 'patched': {
        const isFresh = this.#patched && ctx.patched(`patch-${this.#names}-${++this.#patches}`);
        return this.run(ctx, isFresh ? program.fresh : program.old);
      }
    }
  }

  async #several(
    ctx: WorkflowContext,
    { kind, parts }: Extract<Program, { kind: 'seq' | 'all' | 'race' | 'plainRace' }>,
  ): Promise<JsonValue> {
    switch (kind) {
      case 'seq': {
        const results: JsonValue[] = [];
        for (const part of parts) results.push(await this.run(ctx, part));
        return results;
      }
      case 'all':
        return Promise.all(parts.map((part) => this.run(ctx, part)));
      case 'plainRace':
        return Promise.race(parts.map((part) => this.run(ctx, part)));
      case 'race': {
        const closing = this.#telling.closing('ctx.race');
        try {
          return await ctx.race(
            parts.map((part, at) => async (inner) => {
              const script = this.#within(`${closing.path}.${at}`);
              return script.run(inner, part);
            }),
          );
        } finally {
          closing.closed();
          closing.settled();
        }
      }
    }
  }

  /** What it gives is what the parts gave that came to their end first, in that order. */
  async #some(ctx: WorkflowContext, { needed, parts }: SomeProgram): Promise<JsonValue> {
    const closing = this.#telling.closing('ctx.some');
    const ended: Awaited<ReturnType<WorkflowContext['some']>> = [];
    try {
      const results = await ctx.some(
        needed,
        parts.map((part, index) => async (inner) => {
          const value = await this.#within(`${closing.path}.${index}`).run(inner, part);
          ended.push({ index, value });
          return value;
        }),
      );
      this.#telling.gotSome(results, ended.slice(0, needed));
      return results.map(({ index, value }) => [index, value]);
    } finally {
      closing.closed();
      closing.settled();
    }
  }

  async #scope(ctx: WorkflowContext, { body, after, quits }: Extract<Program, { kind: 'scope' }>): Promise<JsonValue> {
    const closing = this.#telling.closing('ctx.scope');
    try {
      return await ctx.scope(async (inner, scope) => {
        const work = this.#within(closing.path).run(inner, body);
        work.catch(() => undefined);
        if (after > 0) await this.#leaf(ctx, async () => ctx.sleep(seconds(after)));
        scope.cancel();
        closing.closed();
        if (quits) return 'quit';
        return work.catch((error: unknown) => {
          if (isCancelOfRun(error) || !isCancel(error)) throw error;
          return 'cancelled';
        });
      });
    } finally {
      closing.settled();
    }
  }

  async #saga(ctx: WorkflowContext, { takes, rest }: Extract<Program, { kind: 'saga' }>): Promise<JsonValue> {
    const owed = this.#telling.owes('saga');
    const work: StepProgram = { kind: 'step', takes, fails: 0, honours: false };
    try {
      return await ctx.saga(async (saga) => {
        await this.#step(ctx, work, 'book');
        owed.begun();
        saga.compensate(`undo-${this.#names}`, (step) =>
          this.#stage.work(ctx.runId, step, { program: work, handle: { gaveUp: undefined } }),
        );
        return this.run(ctx, rest);
      });
    } finally {
      owed.settled();
    }
  }

  #step(ctx: WorkflowContext, program: StepProgram, what = 'step'): Promise<JsonValue> {
    const { fails, fatal = false, once = false, deadline, long = false } = program;
    const handle: StepHandle = { gaveUp: undefined };
    const name = `${what}-${++this.#names}`;
    const step = ctx.step(name, (context) => this.#stage.work(ctx.runId, context, { program, handle }), {
      retry: { maxAttempts: fatal ? 1 : fails + 2, initialInterval: { seconds: 2 } },
      ...(once ? { atMostOnce: true } : {}),
      ...(deadline === undefined ? {} : { deadline: seconds(deadline) }),
      ...(long ? { long: true } : {}),
    });
    step.catch((error: unknown) => {
      if (isCancel(error)) handle.gaveUp?.();
    });
    return this.#leaf(ctx, () => step, fatal);
  }

  /** Returns a failure as a value, so that the program continues; a cancel is thrown. */
  async #leaf(ctx: WorkflowContext, wait: () => Promise<unknown>, isFatal = false): Promise<JsonValue> {
    try {
      return ((await wait()) ?? null) as JsonValue;
    } catch (error) {
      if (isCancelOfRun(error)) this.#telling.heardCancel();
      if (isCancel(error) || isFatal) throw error;
      return (error as { code?: string }).code ?? 'error';
    } finally {
      this.#telling.now(ctx.now());
    }
  }

  /** Returns a handler that reports what it hears. */
  #hearing(how: 'at once' | 'slowly'): ProgressHandler {
    const hear = this.#telling.hears();
    return async (shown, inner) => {
      hear(shown);
      if (how === 'slowly') await inner.sleep(seconds(20));
    };
  }

  /** Returns the script of a part that the engine closes. */
  #within(path: string): Script {
    const script = new Script(this.#stage, this.#telling.within(path), this.#patched, this.#kid);
    script.#names = this.#names + 1_000 * ++this.#inner;
    return script;
  }

  #inner = 0;
}

export const seconds = (count: number): Duration => ({ seconds: count });

export function isCancel(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'RUN_CANCELLED';
}

/** Returns false for the cancel of a closed scope. */
function isCancelOfRun(error: unknown): boolean {
  return isCancel(error) && !(error as Error).message.includes('closed');
}

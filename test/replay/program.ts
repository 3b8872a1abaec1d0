import fc from 'fast-check';
import type { JsonValue } from '../../lib/base/json.js';
import { NonRetryableError } from '../../lib/base/errors.js';
import type { WorkflowContext } from '../../lib/workflow/context.js';
import type { ScriptedTask } from '../../lib/testing/scripted-task.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import type { RemoteRequest } from '../../lib/remote/transport.js';

/** A small workflow as data. */
export type Program =
  | { readonly kind: 'step'; readonly name: string; readonly end: 'result' | 'failure' | 'secondAttempt' }
  | { readonly kind: 'sleep'; readonly seconds: number }
  | {
      readonly kind: 'remote';
      readonly call: number;
      readonly seconds: number;
      readonly end: 'result' | 'isError' | 'failure' | 'refusal' | 'never';
    }
  | { readonly kind: 'random' }
  | { readonly kind: 'signal'; readonly name: string; readonly seconds: number }
  | { readonly kind: 'token'; readonly seconds: number }
  | {
      readonly kind: 'child';
      readonly seconds: number;
      readonly end: 'result' | 'failure';
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'raced'; readonly parts: readonly Program[] }
  /** Begins the body and cancels its scope after that many seconds. */
  | { readonly kind: 'scoped'; readonly body: Program; readonly seconds: number }
  | { readonly kind: 'shielded'; readonly body: Program }
  /** Does something that is undone if the body fails. */
  | { readonly kind: 'saga'; readonly body: Program }
  | {
      readonly kind: 'together';
      readonly how: 'sequence' | 'all' | 'allSettled' | 'race' | 'any';
      readonly parts: readonly Program[];
    }
  | { readonly kind: 'finally'; readonly body: Program; readonly cleanup: Program }
  | { readonly kind: 'catch'; readonly body: Program; readonly instead: Program }
  | { readonly kind: 'loop'; readonly times: number; readonly body: Program }
  /** Begins `first`, awaits `then`, and then awaits `first`. */
  | { readonly kind: 'behind'; readonly first: Program; readonly then: Program }
  /** Begins `first`, and awaits only `then`. */
  | { readonly kind: 'floating'; readonly first: Program; readonly then: Program };

const seconds = fc.integer({ min: 0, max: 400 });
const timeout = fc.integer({ min: 1, max: 400 });

/** The only child that programs have. */
export const child = defineWorkflow<{ readonly seconds: number; readonly end: string }, JsonValue>({
  name: 'child',
  run: async (ctx, { seconds: long, end }) => {
    await ctx.sleep({ seconds: long });
    if (end === 'failure') throw new Error('child fails');
    return { long };
  },
});

export const programs: fc.Arbitrary<Program> = fc.letrec<{ program: Program; leaf: Program }>((tie) => ({
  leaf: fc.oneof(
    fc.record({
      kind: fc.constant('step' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      end: fc.constantFrom('result' as const, 'result' as const, 'failure' as const, 'secondAttempt' as const),
    }),
    fc.record({ kind: fc.constant('sleep' as const), seconds }),
    fc.record({
      kind: fc.constant('remote' as const),
      call: fc.integer({ min: 0, max: 5 }),
      seconds,
      end: fc.constantFrom(
        'result' as const,
        'result' as const,
        'isError' as const,
        'failure' as const,
        'refusal' as const,
        'never' as const,
      ),
    }),
    fc.constant({ kind: 'random' as const }),
    fc.record({ kind: fc.constant('signal' as const), name: fc.constantFrom('x', 'y'), seconds: timeout }),
    fc.record({ kind: fc.constant('token' as const), seconds: timeout }),
    fc.record({
      kind: fc.constant('child' as const),
      seconds,
      end: fc.constantFrom('result' as const, 'failure' as const),
      timeoutSeconds: timeout,
    }),
  ),
  program: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.record({ kind: fc.constant('raced' as const), parts: fc.array(tie('program'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ kind: fc.constant('scoped' as const), body: tie('program'), seconds }),
    fc.record({ kind: fc.constant('shielded' as const), body: tie('program') }),
    fc.record({ kind: fc.constant('saga' as const), body: tie('program') }),
    fc.record({
      kind: fc.constant('together' as const),
      how: fc.constantFrom('sequence' as const, 'all' as const, 'allSettled' as const, 'race' as const, 'any' as const),
      parts: fc.array(tie('program'), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('finally' as const), body: tie('program'), cleanup: tie('program') }),
    fc.record({ kind: fc.constant('catch' as const), body: tie('program'), instead: tie('program') }),
    fc.record({ kind: fc.constant('loop' as const), times: fc.integer({ min: 1, max: 3 }), body: tie('program') }),
    fc.record({ kind: fc.constant('behind' as const), first: tie('program'), then: tie('program') }),
    fc.record({ kind: fc.constant('floating' as const), first: tie('program'), then: tie('program') }),
  ),
})).program;

/** Runs a program as an author would have written it. `ran` is called for each step that runs. */
export async function interpret(
  ctx: WorkflowContext,
  program: Program,
  ran: (name: string) => void,
): Promise<JsonValue> {
  const go = (part: Program): Promise<JsonValue> => interpret(ctx, part, ran);
  switch (program.kind) {
    case 'step':
      return ctx.step(program.name, ({ attempt }) => {
        ran(program.name);
        if (program.end === 'failure') throw new NonRetryableError(`${program.name} fails`);
        if (program.end === 'secondAttempt' && attempt === 1) throw new Error('once more');
        return `${program.name}:${attempt}`;
      });
    case 'sleep':
      await ctx.sleep({ seconds: program.seconds });
      return 'slept';
    case 'remote': {
      const { call, seconds, end } = program;
      const outcome = await ctx.callRemoteTask({
        server: 'reports',
        tool: 'export',
        arguments: { call, seconds, end },
        timeout: { minutes: 10 },
      });
      return [outcome.result, outcome.isError];
    }
    case 'random':
      return ctx.random();
    case 'signal':
      return ctx.signal(program.name, { timeout: { seconds: program.seconds } });
    case 'token': {
      const { token, outcome } = await ctx.externalToken({ timeout: { seconds: program.seconds } });
      return [token, (await outcome).result];
    }
    case 'child': {
      const { seconds: long, end, timeoutSeconds } = program;
      return ctx.child(child, { seconds: long, end }, { timeout: { seconds: timeoutSeconds } });
    }
    case 'raced':
      return ctx.race(program.parts.map((part) => (inner) => interpret(inner, part, ran)));
    case 'scoped':
      return ctx.scope(async (inner, scope) => {
        const body = interpret(inner, program.body, ran);
        body.catch(() => undefined);
        await ctx.sleep({ seconds: program.seconds });
        scope.cancel();
        return body;
      });
    case 'shielded':
      return ctx.shield(async (inner) => interpret(inner, program.body, ran));
    case 'saga':
      return ctx.saga(async (saga) => {
        await ctx.step('do', () => {
          ran('do');
        });
        saga.compensate('undo', () => {
          ran('undo');
        });
        return go(program.body);
      });
    case 'together':
      return together(program.how, program.parts, go);
    case 'finally':
      try {
        return await go(program.body);
      } finally {
        await go(program.cleanup);
      }
    case 'catch':
      try {
        return await go(program.body);
      } catch (error) {
        return [String(error), await go(program.instead)];
      }
    case 'loop': {
      const results: JsonValue[] = [];
      for (let round = 0; round < program.times; round++) results.push(await go(program.body));
      return results;
    }
    case 'behind': {
      const first = go(program.first);
      // A failure before it is awaited must not end the process.
      first.catch(() => undefined);
      return [await go(program.then), await first];
    }
    case 'floating':
      void go(program.first).catch(() => undefined);
      return go(program.then);
  }
}

async function together(
  how: Extract<Program, { kind: 'together' }>['how'],
  parts: readonly Program[],
  go: (part: Program) => Promise<JsonValue>,
): Promise<JsonValue> {
  switch (how) {
    case 'sequence': {
      const results: JsonValue[] = [];
      for (const part of parts) results.push(await go(part));
      return results;
    }
    case 'all':
      return Promise.all(parts.map(go));
    case 'allSettled':
      return (await Promise.allSettled(parts.map(go))).map((end) =>
        end.status === 'fulfilled' ? end.value : String(end.reason),
      );
    case 'race':
      return Promise.race(parts.map(go));
    case 'any':
      return Promise.any(parts.map(go));
  }
}

/** Returns what the server of a program does with a call; the call itself says so. */
export function taskOf(request: RemoteRequest): ScriptedTask {
  if (request.kind !== 'tool') throw new Error('programs call tools');
  const { seconds, end } = request.arguments as { seconds: number; end: Extract<Program, { kind: 'remote' }>['end'] };
  const after = seconds === 0 ? {} : { after: { seconds } };
  switch (end) {
    case 'result':
      return { ...after, result: { seconds } };
    case 'isError':
      return { ...after, result: 'refused', isError: true };
    case 'failure':
      return { ...after, failure: 'broken' };
    case 'refusal':
      return { refusal: 'not today' };
    case 'never':
      return { never: true };
  }
}

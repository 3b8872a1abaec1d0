import type { Duration, EpochMs } from '../../base/time.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { Scope } from '../waits/scope.js';
import { invalid, toMs } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';

/** Creates `ctx.sleep` and `ctx.sleepUntil`. */
export function timers(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'sleep' | 'sleepUntil'> {
  const { waits } = host;
  return {
    sleep: handled(async (duration: Duration) => {
      checkTurn(host, 'sleep');
      const durationMs = toMs(duration, 'the duration of a sleep');
      await waits.ask<undefined>(scope, (waitId) => ({ kind: 'startTimer', waitId, until: { durationMs } }));
    }),

    sleepUntil: handled(async (instant: EpochMs | Date) => {
      checkTurn(host, 'sleepUntil');
      const atMs = instant instanceof Date ? instant.getTime() : instant;
      if (!Number.isFinite(atMs)) throw invalid('sleepUntil needs a Date or milliseconds since 1970');
      await waits.ask<undefined>(scope, (waitId) => ({ kind: 'startTimer', waitId, until: { atMs } }));
    }),
  };
}

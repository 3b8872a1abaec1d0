import type { JsonValue } from '../../../lib/base/json.js';
import { defineWorkflow, type AnyWorkflow } from '../../../lib/workflow/define-workflow.js';
import type { FlowControl } from '../../../lib/workflow/flow-control.js';
import { isCancel, Script, seconds, type Input, type Stage } from './interpret.js';
import type { Limits } from './limits.js';
import type { Flow } from './program.js';
import type { Case } from './timetable.js';

const kidName = 'kid';

/** Creates the workflows of a case; `patched`: the later version of their code. */
export function workflowsOf(
  { flows, limits, served }: Pick<Case, 'flows' | 'limits' | 'served'>,
  stage: () => Stage,
  patched: boolean,
): readonly AnyWorkflow[] {
  const kidLane = limits?.kids === undefined ? {} : { concurrency: { key: () => 'kids', whenBusy: limits.kids } };
  const kid = workflowOf(kidName, flows.kid, { stage, patched, control: kidLane });
  const main = workflowOf('main', flows.main, { stage, patched, kid });
  const tasks =
    served === undefined
      ? []
      : [
          workflowOf('desk', served.desk, { stage, patched, kid }),
          workflowOf('chat', served.chat, { stage, patched, kid }),
        ];
  if (limits === undefined) return [main, kid, ...tasks];
  return [main, kid, workflowOf('limited', limits.flow, { stage, patched, kid, control: controlOf(limits) }), ...tasks];
}

function controlOf({ whenBusy, throttle, debounce }: Limits): FlowControl<Input> {
  const key = ({ lane }: Input): string | undefined => lane;
  return {
    ...(whenBusy === undefined ? {} : { concurrency: { key, whenBusy } }),
    ...(throttle === undefined
      ? {}
      : {
          throttle: {
            limit: throttle.limit,
            period: seconds(throttle.period),
            whenExceeded: throttle.whenExceeded,
            ...(throttle.perLane ? { key } : {}),
          },
        }),
    ...(debounce === undefined
      ? {}
      : { debounce: { key, period: seconds(debounce.period), maxWait: seconds(debounce.maxWait) } }),
  };
}

interface Scene {
  readonly stage: () => Stage;
  readonly patched: boolean;
  readonly kid?: AnyWorkflow;
  readonly control?: FlowControl<Input>;
}

function workflowOf(name: string, flow: Flow, { stage, patched, kid, control = {} }: Scene): AnyWorkflow {
  return defineWorkflow<Input>({
    name,
    ...control,
    run: async (ctx, input) => {
      const telling = stage().open(ctx.runId, input);
      const script = new Script(stage(), telling, patched, kid);
      // A message that names no skill has no round.
      const { round = 0 } = input as Partial<Input>;
      ctx.onQuery('round', () => round);
      let result: JsonValue;
      try {
        result = await script.run(ctx, flow.body);
      } catch (error) {
        if (!flow.catches || !isCancel(error)) throw error;
        result = 'caught';
      }
      // A last request that is refused at once has been refused after these microtasks.
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
      telling.returned();
      if (round < flow.rounds) return ctx.continueAsNew({ ...input, round: round + 1 });
      return result;
    },
  });
}

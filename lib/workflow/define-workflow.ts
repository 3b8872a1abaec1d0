import { defined } from '../base/defined.js';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { EngineError } from '../base/errors.js';
import type { JsonValue, OnlyStorable } from '../base/json.js';
import { configName } from './config-name.js';
import type { Workflow, WorkflowContext } from './context.js';
import { checkFlowControl, type FlowControl } from './flow-control.js';

export type { AnyValue, AnyWorkflow, Workflow } from './context.js';

/** Definition of a workflow. */
export interface WorkflowOptions<Input, Output, Given = Input> extends FlowControl<NoInfer<Input>> {
  /** At most 64 letters, digits, `.`, `_` and `-`; stored with every run. */
  readonly name: string;
  /** 1 to 64 characters; stored with every run. Default `"1"`. */
  readonly version?: string;
  /**
   * Any Standard Schema validator (zod, valibot, arktype). A start is refused if its input does not fit. Default: any
   * JSON.
   */
  readonly input?: StandardSchemaV1<Given, Input>;
  /**
   * The workflow's code. It is replayed from the start after each wait, so put everything that does not depend only on
   * the input and on `ctx` into `ctx.step`.
   */
  readonly run: (ctx: WorkflowContext, input: Input) => Promise<Output>;
}

const versionMaxLength = 64;

/**
 * Defines a workflow. @throws EngineError `CONFIG_INVALID` for an invalid name, version or other option
 * @example
 * ```ts
 * import { defineWorkflow } from 'outwait';
 *
 * export const reminder = defineWorkflow<{ to: string }>({
 *   name: 'reminder',
 *   async run(ctx, { to }) {
 *     await ctx.sleep({ days: 3 });
 *     return ctx.step('remind', () => `reminded ${to}`);
 *   },
 * });
 * ```
 */
export function defineWorkflow<Input = JsonValue, Output = unknown, Given = Input>(
  options: WorkflowOptions<Input, Output, Given> & OnlyStorable<Given> & OnlyStorable<Output>,
): Workflow<Input, Output, Given> {
  if (!configName.test(options.name)) {
    throw new EngineError(
      'CONFIG_INVALID',
      `a workflow name must be letters, digits, ".", "_" or "-", at most 64, got "${options.name}"`,
    );
  }
  const { version = '1' } = options;
  if (typeof version !== 'string' || version === '' || version.length > versionMaxLength) {
    throw new EngineError(
      'CONFIG_INVALID',
      `the version of workflow "${options.name}" must be a string of 1 to ${versionMaxLength} characters`,
    );
  }
  const { input, concurrency, throttle, debounce } = options;
  const flowControl = defined({ concurrency, throttle, debounce });
  checkFlowControl(options.name, flowControl);
  return {
    name: options.name,
    version,
    run: options.run,
    ...defined({ input, flowControl: Object.keys(flowControl).length === 0 ? undefined : flowControl }),
  };
}

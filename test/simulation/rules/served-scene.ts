import type { Caller } from '../../../lib/base/caller.js';
import { isEngineError } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { ServedTask } from '../../../lib/serve/task/served-task.js';
import type { SendRequest, Tasks } from '../../../lib/serve/tasks.js';
import type { WorkflowContext } from '../../../lib/workflow/context.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { World, type Deviation, type Freeze, type Process } from '../world.js';

const serve = { agent: { name: 'Desk', description: 'Does things' }, skills: { flow: { description: 'Works' } } };

/** A fault at the first operation whose tag fits, in a process of that kind. */
export interface ServedFault {
  readonly who: string;
  readonly at: RegExp;
  readonly what: Deviation | ((world: World) => Freeze);
}

interface Scene {
  readonly run: (ctx: WorkflowContext, input: { readonly round?: number }) => Promise<unknown>;
  readonly faults?: readonly ServedFault[];
  readonly seconds?: number;
  /** Live runs that the tenant of the caller may have. */
  readonly liveRuns?: number;
}

/** A world with one served workflow and one caller, in which what goes wrong is written down. */
export class ServedScene {
  readonly world: World;
  /** What each request was told, in the order in which they were made: a task, or the code of an error. */
  readonly told: (ServedTask | string | undefined)[] = [];
  readonly processes: Process[] = [];
  readonly #liveRuns: number | undefined;
  readonly #taskIds = new Map<string, string>();

  constructor({ run, faults = [], seconds = 400, liveRuns }: Scene) {
    this.#liveRuns = liveRuns;
    const left = [...faults];
    this.world = new World({
      ...{ seed: 1, faultRate: 0, endS: seconds },
      workflows: [defineWorkflow({ name: 'flow', run })],
      direct: (tag, process) => {
        const at = left.findIndex((fault) => process.startsWith(fault.who) && fault.at.test(tag));
        const [fault] = at < 0 ? [] : left.splice(at, 1);
        return typeof fault?.what === 'function' ? fault.what(this.world) : fault?.what;
      },
    });
  }

  /** Has the caller do something at a second. */
  at(second: number, act: (tasks: Tasks) => Promise<ServedTask | undefined>): void {
    const number = this.told.push(undefined) - 1;
    this.world.atSecond(second, () => {
      this.processes[number] = this.world.request('caller', async (deps) => {
        this.told[number] = await act(this.#tasks(deps)).catch((error: unknown) => {
          if (isEngineError(error)) return error.code;
          throw error;
        });
      });
    });
  }

  start(second: number, key: string, messageId = 'm0'): void {
    this.at(second, async (tasks) => {
      const task = await tasks.send({ message: messageOf(messageId, 'go'), skill: 'flow', arguments: {}, key });
      this.#taskIds.set(key, task.taskId);
      return task;
    });
  }

  say(second: number, key: string, messageId: string, more: Partial<SendRequest> = {}): void {
    this.at(second, (tasks) =>
      tasks.send({ message: messageOf(messageId, messageId), taskId: this.taskOf(key), ...more }),
    );
  }

  async run(): Promise<void> {
    await this.world.run();
  }

  /** Returns the task that a start with the key has made. */
  taskOf(key: string): string {
    return this.#taskIds.get(key) ?? '';
  }

  /** Reads a task without any fault. */
  async read(key: string): Promise<ServedTask> {
    return this.#tasks(this.world.depsAside()).read(this.taskOf(key));
  }

  get #caller(): Caller {
    const roles = ['call'] as const;
    return this.#liveRuns === undefined ? { id: 'ann', roles } : { id: 'ann', tenant: 'acme', roles };
  }

  #tasks(deps: Deps): Tasks {
    const liveRuns = this.#liveRuns;
    const app = liveRuns === undefined ? deps.app : { ...deps.app, access: { limits: { liveRuns } } };
    return createTasks({ ...deps, app, caller: this.#caller }, serve);
  }
}

export function messageOf(messageId: string, text: string) {
  return { messageId, role: 'user', parts: [{ text }] } as const;
}

import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import type { Deps } from '../../../lib/operations/deps.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { FlowControl } from '../../../lib/workflow/flow-control.js';
import type { Tasks } from '../../../lib/serve/tasks.js';
import type { TaskMessage } from '../../../lib/serve/task/served-task.js';

/** A deployment that serves one workflow to one caller, on a virtual clock. */
export class ServedApp {
  readonly app: TestApp;
  readonly tasks: Tasks;
  #messages = 0;

  constructor(run: (ctx: WorkflowContext, input: unknown) => Promise<unknown>, options: FlowControl = {}) {
    this.app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run, ...options })] }));
    const { deps } = this.app as unknown as { readonly deps: Deps };
    const caller = { id: 'ann', roles: ['call'] } as const;
    const agent = { name: 'Desk', description: 'Does things' };
    this.tasks = createTasks({ ...deps, caller }, { agent, skills: { flow: { description: 'Works' } } });
  }

  message(text: string): TaskMessage {
    return { messageId: `m${++this.#messages}`, role: 'user', parts: [{ text }] };
  }

  async start(): Promise<string> {
    const { taskId } = await this.tasks.send({ message: this.message('go'), skill: 'flow', arguments: {} });
    await this.app.settleDown();
    return taskId;
  }

  /** Returns the texts that the caller has said, as its task shows them. */
  async said(taskId: string): Promise<readonly string[]> {
    const { history } = await this.tasks.read(taskId);
    return saidIn(history);
  }
}

/** Returns the texts of the messages of the caller, but for the one that started the task. */
export function saidIn(history: readonly TaskMessage[]): readonly string[] {
  return history.flatMap(({ role, parts }) =>
    role === 'user' ? parts.flatMap((part) => ('text' in part ? [part.text] : [])) : [],
  );
}

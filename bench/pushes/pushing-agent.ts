import { type A2aAgent, type Rpc, startA2aAgent } from '../a2a-agent.js';

// An A2A 1.0 agent whose tasks go on until their last push is sent.

export interface PushTarget {
  readonly taskId: string;
  readonly url: string;
  readonly secret: string;
}

export interface PushingAgent extends A2aAgent {
  /** Where each task is pushed to, in the order of the starts. */
  readonly targets: PushTarget[];
  /** Tasks that have been read. */
  tasksRead(): number;
  /** Reads of tasks that have ended. */
  readsOfEnded(): number;
  end(taskId: string): void;
}

export async function startPushingAgent(): Promise<PushingAgent> {
  const ended = new Set<string>();
  const targets: PushTarget[] = [];
  const read = new Set<string>();
  let reads = 0;
  const taskOf = (id: string): object =>
    ended.has(id)
      ? { id, contextId: id, ...endedState, artifacts: [{ artifactId: 'a', parts: [{ text: id }] }] }
      : { id, contextId: id, status: { state: 'TASK_STATE_WORKING' } };
  const answer = ({ method, params }: Rpc): object => {
    if (method !== 'SendMessage') {
      read.add(params.id ?? '');
      if (method === 'GetTask' && ended.has(params.id ?? '')) reads++;
      return taskOf(params.id ?? '');
    }
    const taskId = params.message?.parts[0]?.text ?? '';
    const { url = '', token = '' } = params.configuration?.taskPushNotificationConfig ?? {};
    targets.push({ taskId, url, secret: token });
    return { task: taskOf(taskId) };
  };
  const agent = await startA2aAgent(answer, { pushNotifications: true });
  return {
    ...agent,
    targets,
    tasksRead: () => read.size,
    readsOfEnded: () => reads,
    end: (taskId) => void ended.add(taskId),
  };
}

const endedState = { status: { state: 'TASK_STATE_COMPLETED' } };

import { type A2aAgent, type Rpc, startA2aAgent } from '../a2a-agent.js';

// An A2A 1.0 agent whose tasks end at the instant that their text names; it keeps nothing but what it has told.

export interface TimedAgent extends A2aAgent {
  /** Reads of tasks so far. */
  reads(): number;
  /** When each task was first told to have ended, by its id, which is the text of its message. */
  readonly toldAtMs: ReadonlyMap<string, number>;
}

/** Returns the text of the message, and id, of a task that ends at an instant. */
export const taskText = (number: number, endsAtMs: number): string => `${number}-${endsAtMs}`;
export const endOf = (task: string): number => Number(task.slice(task.indexOf('-') + 1));

export async function startTimedAgent(): Promise<TimedAgent> {
  const toldAtMs = new Map<string, number>();
  let reads = 0;
  const taskOf = (id: string): object => {
    const nowMs = Date.now();
    if (nowMs < endOf(id)) return { id, contextId: id, status: { state: 'TASK_STATE_WORKING' } };
    if (!toldAtMs.has(id)) toldAtMs.set(id, nowMs);
    const artifacts = [{ artifactId: 'a', parts: [{ text: id }] }];
    return { id, contextId: id, status: { state: 'TASK_STATE_COMPLETED' }, artifacts };
  };
  const answer = ({ method, params }: Rpc): object => {
    if (method === 'SendMessage') return { task: taskOf(params.message?.parts[0]?.text ?? '') };
    reads++;
    return taskOf(params.id ?? '');
  };
  const agent = await startA2aAgent(answer, {});
  return {
    ...agent,
    reads: () => reads,
    toldAtMs,
  };
}

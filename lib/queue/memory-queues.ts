import type { Clock, EpochMs } from '../base/time.js';
import { MemoryQueue } from './memory-queue.js';
import type { Queues, TurnMessage, WorkMessage } from './queue.js';

interface QueueRules {
  readonly visibilityMs: number;
  readonly maxReceiveCount: number;
}

export interface MemoryQueuesOptions {
  readonly turn: QueueRules;
  readonly work: QueueRules;
  readonly clock: Clock;
  /** Called after each change of a queue; whoever drives the receiving looks at `nextChangeAtMs` again. Must not throw. */
  readonly onChange?: () => void;
}

/** Both queues of the engine in memory, each with its dead-letter queue; bodies are the JSON text that SQS would carry. */
export class MemoryQueues implements Queues {
  readonly turn: MemoryQueue;
  readonly work: MemoryQueue;
  readonly turnDeadLetters: MemoryQueue;
  readonly workDeadLetters: MemoryQueue;

  constructor({ turn, work, clock, onChange }: MemoryQueuesOptions) {
    const shared = { clock, ...(onChange === undefined ? {} : { onChange }) };
    const deadLetters = { clock, visibilityMs: 30_000, maxReceiveCount: Infinity };
    this.turnDeadLetters = new MemoryQueue({ name: 'turn-dead-letters', kind: 'fifo', ...deadLetters });
    this.workDeadLetters = new MemoryQueue({ name: 'work-dead-letters', kind: 'standard', ...deadLetters });
    this.turn = new MemoryQueue({ name: 'turn', kind: 'fifo', ...turn, deadLetters: this.turnDeadLetters, ...shared });
    this.work = new MemoryQueue({
      name: 'work',
      kind: 'standard',
      ...work,
      deadLetters: this.workDeadLetters,
      ...shared,
    });
  }

  async sendTurn(message: TurnMessage, dedupId: string): Promise<void> {
    this.turn.send({ body: JSON.stringify(message), groupId: message.runId, dedupId });
  }

  async sendWork(message: WorkMessage, delayMs: number): Promise<void> {
    this.work.send({ body: JSON.stringify(message), delayMs });
  }

  /** The earliest instant at which a receive from either queue finds something, perhaps past already. */
  nextChangeAtMs(): EpochMs | undefined {
    const turnAtMs = this.turn.nextChangeAtMs();
    const workAtMs = this.work.nextChangeAtMs();
    if (turnAtMs === undefined || workAtMs === undefined) return turnAtMs ?? workAtMs;
    return Math.min(turnAtMs, workAtMs);
  }
}

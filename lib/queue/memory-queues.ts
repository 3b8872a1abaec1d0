import { defined } from '../base/defined.js';
import type { Clock, EpochMs } from '../base/time.js';
import { MemoryQueue } from './memory-queue.js';
import {
  groupOf,
  queueOf,
  type Queues,
  type StartMessage,
  type StepMessage,
  type TurnMessage,
  type WorkMessage,
} from './queue.js';

interface QueueRules {
  readonly visibilityMs: number;
  readonly maxReceiveCount: number;
}

export interface MemoryQueuesOptions {
  readonly turn: QueueRules;
  readonly work: QueueRules;
  readonly step: QueueRules;
  /** Default: the rules of `step`. */
  readonly start?: QueueRules;
  /** Default: the messages of this queue are sent to `work`. */
  readonly slow?: QueueRules;
  readonly clock: Clock;
  /** Called after each change of a queue; the receiver then checks `nextChangeAtMs` again. Must not throw. */
  readonly onChange?: () => void;
}

/** The engine's queues in memory, each with its dead-letter queue; bodies are the JSON text that SQS would carry. */
export class MemoryQueues implements Queues {
  readonly turn: MemoryQueue;
  readonly work: MemoryQueue;
  readonly step: MemoryQueue;
  readonly start: MemoryQueue;
  readonly slow: MemoryQueue;
  readonly turnDeadLetters: MemoryQueue;
  readonly workDeadLetters: MemoryQueue;
  readonly stepDeadLetters: MemoryQueue;
  readonly startDeadLetters: MemoryQueue;
  readonly slowDeadLetters: MemoryQueue;

  constructor({ turn, work, step, start = step, slow, clock, onChange }: MemoryQueuesOptions) {
    const shared = { clock, ...defined({ onChange }) };
    const deadLetters = { clock, visibilityMs: 30_000, maxReceiveCount: Infinity };
    this.turnDeadLetters = new MemoryQueue({ name: 'turn-dead-letters', kind: 'fifo', ...deadLetters });
    this.workDeadLetters = new MemoryQueue({ name: 'work-dead-letters', kind: 'standard', ...deadLetters });
    this.stepDeadLetters = new MemoryQueue({ name: 'step-dead-letters', kind: 'standard', ...deadLetters });
    this.startDeadLetters = new MemoryQueue({ name: 'start-dead-letters', kind: 'standard', ...deadLetters });
    this.slowDeadLetters = new MemoryQueue({ name: 'slow-dead-letters', kind: 'standard', ...deadLetters });
    const standard = (name: string, rules: QueueRules, dead: MemoryQueue): MemoryQueue =>
      new MemoryQueue({ name, kind: 'standard', ...rules, deadLetters: dead, ...shared });
    this.turn = new MemoryQueue({ name: 'turn', kind: 'fifo', ...turn, deadLetters: this.turnDeadLetters, ...shared });
    this.work = standard('work', work, this.workDeadLetters);
    this.step = standard('step', step, this.stepDeadLetters);
    this.start = standard('start', start, this.startDeadLetters);
    this.slow = slow === undefined ? this.work : standard('slow', slow, this.slowDeadLetters);
  }

  async sendTurn(message: TurnMessage, dedupId: string): Promise<void> {
    this.turn.send({ body: JSON.stringify(message), groupId: message.runId, dedupId });
  }

  async sendWork(message: WorkMessage, delayMs: number): Promise<void> {
    this[queueOf(message)].send({ body: JSON.stringify(message), delayMs, ...defined({ groupId: groupOf(message) }) });
  }

  async sendStep(message: StepMessage, delayMs: number): Promise<void> {
    this.step.send({ body: JSON.stringify(message), delayMs });
  }

  async sendStart(message: StartMessage, delayMs: number): Promise<void> {
    this.start.send({ body: JSON.stringify(message), delayMs });
  }

  /** Returns the earliest instant, possibly in the past, at which a receive from one of the queues finds something. */
  nextChangeAtMs(): EpochMs | undefined {
    const queues = [this.turn, this.work, this.step, this.start, this.slow];
    const instants = queues.flatMap((queue) => queue.nextChangeAtMs() ?? []);
    return instants.length === 0 ? undefined : Math.min(...instants);
  }
}

import { defined } from '../lib/base/defined.js';
import { Duration } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { type QueueName, queues, schedule } from '../lib/topology/topology.js';

export interface OutwaitQueues {
  readonly work: Readonly<Record<QueueName, Queue>>;
  /** Dead-letter queues of each queue and of the sweep. */
  readonly deadLetters: Readonly<Record<QueueName | 'sweep', Queue>>;
}

/** Creates queues that are removed with their stack: messages are hints, and a sweep finds again whatever was lost. */
export function createQueues(scope: Construct): OutwaitQueues {
  const deadLetters = {
    turn: createDeadLetters(scope, 'Turn', queues.turn.deadLetterRetentionDays, queues.turn.fifo),
    work: createDeadLetters(scope, 'Work', queues.work.deadLetterRetentionDays, queues.work.fifo),
    step: createDeadLetters(scope, 'Step', queues.step.deadLetterRetentionDays, queues.step.fifo),
    start: createDeadLetters(scope, 'Start', queues.start.deadLetterRetentionDays, queues.start.fifo),
    slow: createDeadLetters(scope, 'Slow', queues.slow.deadLetterRetentionDays, queues.slow.fifo),
    sweep: createDeadLetters(scope, 'Sweep', schedule.deadLetterRetentionDays, false),
  };
  return {
    deadLetters,
    work: {
      turn: createQueue(scope, 'TurnQueue', 'turn', deadLetters.turn),
      work: createQueue(scope, 'WorkQueue', 'work', deadLetters.work),
      step: createQueue(scope, 'StepQueue', 'step', deadLetters.step),
      start: createQueue(scope, 'StartQueue', 'start', deadLetters.start),
      slow: createQueue(scope, 'SlowQueue', 'slow', deadLetters.slow),
    },
  };
}

function createQueue(scope: Construct, id: string, name: QueueName, deadLetters: Queue): Queue {
  const { fifo, visibilityMs, maxReceiveCount } = queues[name];
  return new Queue(scope, id, {
    ...defined({ fifo: fifo ? fifo : undefined }),
    enforceSSL: true,
    visibilityTimeout: Duration.millis(visibilityMs),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount },
  });
}

function createDeadLetters(scope: Construct, name: string, retentionDays: number, fifo: boolean): Queue {
  return new Queue(scope, `${name}DeadLetters`, {
    ...defined({ fifo: fifo ? fifo : undefined }),
    enforceSSL: true,
    retentionPeriod: Duration.days(retentionDays),
  });
}

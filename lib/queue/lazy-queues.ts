import { lazy } from '../base/lazy.js';
import type { Queues } from './queue.js';
import type { SqsQueueUrls } from './sqs-queues.js';

/**
 * Creates queues on SQS. Loads the client at the first message, since many invocations send none. Throws what
 * `SqsQueues` throws.
 */
export function lazySqsQueues(urls: SqsQueueUrls): Queues {
  const queues = lazy(() => openQueues(urls));
  return {
    sendTurn: async (...given) => (await queues()).sendTurn(...given),
    sendWork: async (...given) => (await queues()).sendWork(...given),
    sendStep: async (...given) => (await queues()).sendStep(...given),
    sendStart: async (...given) => (await queues()).sendStart(...given),
  };
}

async function openQueues(urls: SqsQueueUrls): Promise<Queues> {
  const [{ createSqsClient }, { SqsQueues }] = await Promise.all([
    import('../sdk/sqs-client.js'),
    import('./sqs-queues.js'),
  ]);
  return new SqsQueues(createSqsClient(), urls);
}

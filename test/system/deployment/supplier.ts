import { createHash } from 'node:crypto';
import type { LoopbackServer } from '../../unit/remote/loopback.js';
import { result, serve } from '../../unit/remote/loopback.js';

export const supplierToken = 'canary-token-of-the-supplier';
export const supplierKey = 'canary-key-of-the-supplier';

/** Even compressed it is more than one item holds. */
const quote = createHash('shake256', { outputLength: 400_000 }).update('quote').digest('hex');

/**
 * Starts an A2A agent whose task for `forever` never ends, and whose task for `quote` has ended at its second read. It refuses
 * requests without both secrets.
 */
export async function startSupplier(): Promise<LoopbackServer> {
  let quotesRead = 0;
  return serve((request, response) => {
    const { authorization, 'x-api-key': key } = request.headers;
    if (authorization !== `Bearer ${supplierToken}` || key !== supplierKey) {
      response.writeHead(401).end();
      return;
    }
    const { method, params } = request.body;
    const id = JSON.stringify(params).includes('forever') ? 'task-forever' : 'task-quote';
    if (method === 'SendMessage') {
      result(response, request, { task: task(id, 'TASK_STATE_WORKING') });
      return;
    }
    if (id === 'task-quote') quotesRead += 1;
    const isDone = id === 'task-quote' && quotesRead > 1;
    result(response, request, task(id, isDone ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_WORKING'));
  });
}

function task(id: string, state: string): object {
  const artifacts = state === 'TASK_STATE_COMPLETED' ? [{ artifactId: 'quote', parts: [{ text: quote }] }] : [];
  return { id, contextId: `context-of-${id}`, status: { state }, artifacts };
}

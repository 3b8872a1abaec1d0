import type { SQSRecord } from 'aws-lambda';
import type { Deps } from '../operations/deps.js';
import { makeRemoteStart } from '../operations/remote-task/make-remote-start.js';
import { runLongStep } from '../operations/steps/run-long-step.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';
import { parseStartMessage, parseStepMessage } from './messages.js';
import type { InvocationContext, QueueHandler } from './turn-handler.js';

/**
 * Returns the handler of the step and start queues: it runs the attempts of long steps, or makes the starts, that a
 * batch asks for. The sweep finds what was not done, so a message is only given back on a failure: a malformed body, or
 * a store that does not answer.
 */
export function stepHandler(getDeps: GetDeps): QueueHandler {
  return async (event, context) => {
    const deps = await getDeps();
    const work = () => Promise.all(event.Records.map((record) => runFor(deps, record, context)));
    const done = await measured(deps, work);
    return {
      batchItemFailures: event.Records.filter((_, at) => done[at] !== true).map(({ messageId }) => ({
        itemIdentifier: messageId,
      })),
    };
  };
}

async function runFor(deps: Deps, record: SQSRecord, context: InvocationContext): Promise<boolean> {
  const limits = { remainingMs: () => context.getRemainingTimeInMillis() };
  const start = parseStartMessage(record.body);
  const message = start ?? parseStepMessage(record.body);
  if (message === undefined) {
    deps.log.error('malformed step message', { messageId: record.messageId });
    deps.metrics?.put('HandlerFailures', 1);
    return false;
  }
  try {
    if (start === undefined) await runLongStep(deps, message, limits);
    else await makeRemoteStart(deps, start, limits);
    return true;
  } catch (error) {
    deps.log.error(start === undefined ? 'long step failed' : 'start of a remote task failed', {
      runId: message.runId,
      waitId: message.waitId,
      error,
    });
    deps.metrics?.put('HandlerFailures', 1);
    return false;
  }
}

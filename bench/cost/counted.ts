import { unitsOf } from '../capacity.js';
import { costOfRun, type RunCost } from '../measure-requests.js';
import type { Database } from '../stores.js';
import { plus, requestsPerMessage, times, type Usage } from './usage.js';

/** Usage of one of each, counted at the database and the queues. */
export interface Counted {
  /** Three steps and one remote wait, from the request that starts the run to its end. */
  readonly run: Usage;
  readonly runWith100Polls: Usage;
  readonly step: Usage;
  /** A poll that is alone in its invocation. */
  readonly poll: Usage;
  /** The claim of a task, which covers the polls of a minute. */
  readonly claim: Usage;
  /** A settlement by a relay over the API, with the turn that takes it in. */
  readonly settlement: Usage;
}

const moreSteps = 10;
const polls = 100;
/** Usage of one request from outside. */
const request: Usage = { httpRequests: 1, apiCalls: 1 };

export async function countUsage(database: Database): Promise<Counted> {
  const settled = await costOfRun(database, { steps: 3, polls: 0 });
  const longer = await costOfRun(database, { steps: 3 + moreSteps, polls: 0 });
  const polled = await costOfRun(database, { steps: 3, polls });
  // Without polls, a relay settles the wait with a request of its own.
  const run = plus(usageOf(settled), request, request);
  const runWith100Polls = plus(usageOf(polled), request);
  const step = difference(usageOf(longer), usageOf(settled), moreSteps);
  const poll = difference(usageOf(polled), usageOf(settled), polls);
  return { run, runWith100Polls, step, poll, claim: claimOf(polled), settlement: settlementOf(settled) };
}

function usageOf({ writes, reads, turnInvocations, pollMessages }: RunCost): Usage {
  return {
    writeUnits: unitsOf(writes),
    readUnits: unitsOf(reads),
    turns: turnInvocations,
    polls: pollMessages,
    fifoRequests: turnInvocations * requestsPerMessage,
    standardRequests: pollMessages * requestsPerMessage,
  };
}

function difference(more: Usage, less: Usage, count: number): Usage {
  return times(plus(more, times(less, -1)), 1 / count);
}

function claimOf({ writesByMethod }: RunCost): Usage {
  const usage = writesByMethod['polls.claim'];
  if (usage === undefined) throw new Error('the run has made no polls.claim');
  return { writeUnits: unitsOf(usage) / usage.requests };
}

/** Sums the write that settles, the commit that takes the settlement in, and the write that removes its marker. */
function settlementOf({ writesByMethod, reads, turnInvocations }: RunCost): Usage {
  const units = (method: string, calls: number): number => {
    const usage = writesByMethod[method];
    if (usage === undefined) throw new Error(`the run has made no ${method}`);
    return unitsOf(usage) / calls;
  };
  const writeUnits =
    units('tokens.settle', 1) +
    units('log.commit', writesByMethod['log.commit']?.requests ?? 1) +
    units('tokens.clearMarker', 1);
  const turn: Usage = { turns: 1, fifoRequests: requestsPerMessage, readUnits: unitsOf(reads) / turnInvocations };
  return plus(request, turn, { writeUnits });
}

import { functions } from '../../lib/topology/topology.js';
import { assumed, prices } from './prices.js';

/** Usage that AWS charges for, of one run, poll, settlement or other unit. */
export interface Usage {
  readonly writeUnits?: number;
  readonly readUnits?: number;
  readonly fifoRequests?: number;
  readonly standardRequests?: number;
  readonly httpRequests?: number;
  readonly turns?: number;
  readonly polls?: number;
  readonly apiCalls?: number;
  readonly sweeps?: number;
}

export interface Cost {
  readonly dynamodb: number;
  readonly lambda: number;
  readonly queues: number;
  readonly gateway: number;
  readonly total: number;
}

/** Returns the dollars that a million times this usage costs. */
export function perMillion(usage: Usage): Cost {
  const { writeUnits = 0, readUnits = 0, fifoRequests = 0, standardRequests = 0, httpRequests = 0 } = usage;
  const { turns = 0, polls = 0, apiCalls = 0, sweeps = 0 } = usage;
  const dynamodb = writeUnits * prices.dynamodb.perMillionWriteUnits + readUnits * prices.dynamodb.perMillionReadUnits;
  const lambda =
    turns * invocations(assumed.turnMs, functions.turn.memoryMb) +
    polls * invocations(assumed.pollMs, functions.poll.memoryMb) +
    apiCalls * invocations(assumed.apiMs, functions.api.memoryMb) +
    sweeps * invocations(assumed.sweepMs, functions.schedule.memoryMb);
  const queues = fifoRequests * prices.sqs.perMillionFifo + standardRequests * prices.sqs.perMillionStandard;
  const gateway = httpRequests * prices.apiGateway.perMillionHttpRequests;
  return { dynamodb, lambda, queues, gateway, total: dynamodb + lambda + queues + gateway };
}

/** Returns the cost of a million invocations. */
export function invocations(billedMs: number, memoryMb: number): number {
  const gbSeconds = (billedMs / 1_000) * (memoryMb / 1_024) * 1_000_000;
  return prices.lambda.perMillionRequests + gbSeconds * prices.lambda.perGbSecondArm64;
}

/** A send, a receive and a delete, each in a request of its own. */
export const requestsPerMessage = 3;

export function plus(...usages: readonly Usage[]): Usage {
  const sum: Record<string, number> = {};
  for (const usage of usages)
    for (const [name, count] of Object.entries(usage)) sum[name] = (sum[name] ?? 0) + Number(count);
  return sum;
}

export function times(usage: Usage, factor: number): Usage {
  return Object.fromEntries(Object.entries(usage).map(([name, count]) => [name, Number(count) * factor]));
}

import { dueShardsMin, sweepIntervalMs } from '../../lib/base/limits.js';
import { pollHopsMax } from '../../lib/operations/remote-task/poll-reply.js';
import { batchMax } from '../../lib/queue/sqs-batches.js';
import { functions, queues } from '../../lib/topology/topology.js';
import type { Counted } from './counted.js';
import { assumed, prices, sources } from './prices.js';
import { invocations, perMillion, plus, times, type Usage } from './usage.js';

/** Longest interval of a task whose server pushes: a third of its age, at most this. */
const pushBackstopHours = 6;

const dollars = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

/** Returns the tables of docs/cost.md as Markdown. */
export function formatCost(counted: Counted): string {
  return [
    `Prices of ${prices.region}, arm64, written down on ${prices.writtenDown}:`,
    ...sources
      .map(({ name, url }) => `[${name}](${url})`)
      .map((link, at, all) => `${link}${at === all.length - 1 ? '.' : ','}`),
    '',
    table(
      ['$ per million', 'DynamoDB', 'Lambda', 'SQS', 'API Gateway', 'total'],
      [
        ['runs of 3 steps and 1 remote wait, settled by a relay', counted.run],
        ['the same with 100 polls instead', counted.runWith100Polls],
        ['further steps of a run', counted.step],
        ['polls, each alone', counted.poll],
        [`polls, ${assumed.pollsPerBatch} in an invocation`, batched(counted.poll)],
        ...[5, 15, 60].map((seconds) => [
          `the same, of tasks that are read every ${seconds} s${seconds === 60 ? ' or less often' : ''}`,
          batched(pollAt(counted, seconds)),
        ]),
        ['settlements by a relay', counted.settlement],
      ].map(([name, usage]) => costRow(name as string, usage as Usage)),
    ),
    '',
    table(
      ['counted for one', 'write units', 'read units', 'turns', 'poll messages'],
      [
        ['run, settled by a relay', counted.run],
        ['run with 100 polls', counted.runWith100Polls],
        ['further step', counted.step],
        ['poll', counted.poll],
        ['settlement', counted.settlement],
      ].map(([name, usage]) => countRow(name as string, usage as Usage)),
    ),
    '',
    table(['$ per million runs', '3 steps, 1 wait', 'with 100 polls', 'what is counted'], comparison(counted)),
    '',
    table(['a month in which nothing happens', '$'], idleRows()),
    '',
    table(
      ['a day of 100,000 waits that are older than a day', '$'],
      [
        [
          'read every 5 minutes',
          dollars((100_000 * 288 * perMillion(batched(pollAt(counted, 300))).total) / 1_000_000),
        ],
        ['pushed: read every 6 hours', dollars(pushedWaitsPerDay(counted, 100_000))],
      ],
    ),
  ].join('\n');
}

function costRow(name: string, usage: Usage): readonly string[] {
  const { dynamodb, lambda, queues: sqs, gateway, total } = perMillion(usage);
  return [name, ...[dynamodb, lambda, sqs, gateway, total].map(dollars)];
}

function countRow(name: string, { writeUnits = 0, readUnits = 0, turns = 0, polls = 0 }: Usage): readonly string[] {
  return [name, ...[writeUnits, readUnits, turns, polls].map((count) => String(Number(count.toFixed(2))))];
}

/**
 * Returns the usage of a poll that shares its invocation with others: sends, receives and deletes share requests of up
 * to 10 messages, and the batch one invocation.
 */
export function batched(poll: Usage, batch: number = assumed.pollsPerBatch): Usage {
  const { polls = 0 } = poll;
  const requests = 1 / batchMax + (2 * Math.ceil(batch / batchMax)) / batch;
  return { ...poll, polls: polls / batch, standardRequests: polls * requests };
}

/** Returns the usage of a poll of a task that is read at this interval: a claim covers those of a minute. */
export function pollAt({ poll, claim }: Counted, seconds: number): Usage {
  const perClaim = Math.min(Math.max(1, Math.floor(60 / seconds)), pollHopsMax + 1);
  return { ...poll, ...times(claim, 1 / perClaim) };
}

/**
 * Returns the dollars a day of waits whose server pushes and whose tasks are older than a day: each is read every 6 h.
 * The polls of a batching window share an invocation.
 */
export function pushedWaitsPerDay(counted: Counted, waits: number): number {
  const pollsPerDay = waits * (24 / pushBackstopHours);
  const batch = (pollsPerDay / 86_400) * (queues.work.eventSource.batchingWindowMs / 1_000);
  const usage = batched(
    pollAt(counted, pushBackstopHours * 3_600),
    Math.min(Math.max(1, batch), assumed.pollsPerBatch),
  );
  return perMillion(usage).total * (pollsPerDay / 1_000_000);
}

/**
 * Compares with one function of the same memory and duration per invocation; the steps' own work is left out on all
 * sides.
 */
function comparison(counted: Counted): readonly (readonly string[])[] {
  const turn = invocations(assumed.turnMs, functions.turn.memoryMb);
  const operations = (count: number): number => count * prices.durableFunctions.perMillionOperations;
  const transitions = (count: number): number => count * prices.stepFunctions.perMillionTransitions;
  const express =
    prices.stepFunctions.perMillionExpressRequests + (64 / 1_024) * prices.stepFunctions.perExpressGbSecond * 1_000_000;
  return [
    [
      'outwait',
      dollars(perMillion(counted.run).total),
      dollars(perMillion(counted.runWith100Polls).total),
      'the tables above',
    ],
    [
      'Lambda durable functions',
      dollars(operations(5) + 2 * turn),
      dollars(operations(105) + 102 * turn),
      'the start, 3 steps and 1 wait are an operation each, and so is each poll; an invocation before and after the wait, and one for each poll',
    ],
    [
      'Step Functions, Standard',
      dollars(transitions(5) + 3 * turn),
      dollars(transitions(5 + 300) + 103 * turn),
      'the start, 3 tasks and 1 task with a token are a transition each, a poll is three (wait, task, choice); an invocation for each step and poll',
    ],
    [
      'Step Functions, Express',
      `${dollars(express + 3 * turn)} without the wait`,
      'not possible',
      'one request and one second of 64 MB; ends after five minutes and knows no tokens',
    ],
  ];
}

function idleRows(): readonly (readonly string[])[] {
  const sweepsPerMonth = (assumed.hoursPerMonth * 3_600_000) / sweepIntervalMs;
  // A query of an empty shard costs half a unit, since it need not be consistent. The number of shards is the current
  // minimum.
  const sweep: Usage = { sweeps: 1, readUnits: dueShardsMin / 2 + 1 };
  const receives = ((assumed.hoursPerMonth * 3_600) / assumed.idleReceiveSeconds) * assumed.idleReceivers;
  const waiting = Object.values(queues).map(({ fifo }): Usage =>
    fifo ? { fifoRequests: receives } : { standardRequests: receives },
  );
  const sweepDollars = perMillion(times(sweep, sweepsPerMonth / 1_000_000)).total;
  const waitingDollars = perMillion(times(plus(...waiting), 1 / 1_000_000)).total;
  const secretsDollars = assumed.secrets * prices.secretsManager.perSecretMonth;
  return [
    [`${sweepsPerMonth} sweeps`, dollars(sweepDollars)],
    [`Lambda asks ${waiting.length} queues for messages`, dollars(waitingDollars)],
    [`${assumed.secrets} secrets`, dollars(secretsDollars)],
    ['together', dollars(sweepDollars + waitingDollars + secretsDollars)],
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import { system } from '../../lib/process/system.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { ExportedEvent } from '../../lib/operations/views/read-history.js';
import type { Line } from './app/workflows.js';
import type { Client } from './client.js';
import type { DrivenRun } from './drive.js';
import { type Plan, type PlannedRun, senders, sentBeforePause, signalsOf } from './plan.js';
import type { Ledger, Remotes } from './remotes.js';

// Each check returns its problems, one line each; none if everything is right.

const readsAtATime = 16;
const pageSize = 500;
/** Markers further ahead are not found by the sweeps that the soak waits for. */
const laterMs = 300_000;
/** A run that ended this shortly before a crash may have been in the middle of its last writes. */
const cutMaxMs = 10_000;

/** Checks that each run has ended as planned. */
export async function checkRuns(runs: readonly DrivenRun[], client: Client, ledger: Ledger): Promise<string[]> {
  const limit = pLimit(readsAtATime);
  const found = await Promise.all(
    runs.map((run) =>
      limit(async () => {
        const { planned, runId } = run;
        const problems = await problemsOf(run, client, ledger);
        return problems.map((problem) => `${planned.name} (${runId}): ${problem}`);
      }),
    ),
  );
  return found.flat();
}

async function problemsOf({ planned, runId }: DrivenRun, client: Client, ledger: Ledger): Promise<string[]> {
  const ended = await client.result(runId);
  if (ended === undefined) return ['has not ended'];
  const { outcome } = ended;
  if ('cancelled' in planned) {
    return [
      ...(outcome.status === 'cancelled' ? [] : [`is to be cancelled, but is ${text(outcome)}`]),
      ...(planned.workflow === 'booking' ? undoneProblems(planned.name, ledger) : []),
    ];
  }
  if (outcome.status !== 'completed') return [`is ${text(outcome)}`];
  if (planned.workflow !== 'inbox') {
    const problems = isDeepStrictEqual(outcome.result, planned.result)
      ? []
      : [`gave ${text(outcome.result)}, not ${text(planned.result)}`];
    return planned.workflow === 'booking' ? [...problems, ...keptProblems(planned.name, ledger)] : problems;
  }
  const problems = inboxProblems(planned, outcome.result as unknown as { lines: Line[]; answer: number });
  if (planned.unread > 0) {
    const { unreadSignals = [] } = await client.show(runId);
    const asSent = unreadSignals.length === planned.unread && unreadSignals.every((name) => name === 'extra');
    if (!asSent) problems.push(`lists ${text(unreadSignals)} as unread, not ${planned.unread} of the name extra`);
  }
  if (planned.pauseMs !== undefined) problems.push(...pauseProblems(await client.history(runId)));
  return problems;
}

/** Checks that all bookings that were made are undone, the last one first. */
function undoneProblems(name: string, ledger: Ledger): string[] {
  const whats = ['flight', 'hotel'] as const;
  const left = whats.filter((what) => ledger.isBooked(name, what) && !ledger.isUndone(name, what));
  const inOrder = !whats.every((what) => ledger.isUndone(name, what)) || ledger.undoneFirst(name, whats) === 'hotel';
  return [
    ...left.map((what) => `its ${what} is not undone`),
    ...(inOrder ? [] : ['its flight was undone before its hotel']),
  ];
}

function keptProblems(name: string, ledger: Ledger): string[] {
  return ['flight', 'hotel']
    .filter((what) => !ledger.isBooked(name, what) || ledger.isUndone(name, what))
    .map((what) => `its ${what} is not booked, or undone`);
}

export function inboxProblems(
  planned: PlannedRun & { readonly workflow: 'inbox' },
  result: { readonly lines: readonly Line[]; readonly answer: number },
): string[] {
  const { lines, answer } = result;
  const problems = answer === planned.answer ? [] : [`its remote task gave ${answer}, not ${planned.answer}`];
  for (const sender of senders) {
    const read = lines.filter((line) => line.sender === sender).map(({ n }) => n);
    const sent = signalsOf(planned, sender)
      .filter(({ name }) => name === 'line')
      .map(({ payload }) => payload.n);
    if (!isDeepStrictEqual(read, sent)) problems.push(`read ${text(read)} of sender ${sender}, who sent ${text(sent)}`);
  }
  return problems;
}

/** Checks that the run was paused and resumed, and that no signal sent during the pause was read before its end. */
export function pauseProblems(events: readonly ExportedEvent[]): string[] {
  const paused = events.findIndex(({ type }) => type === 'RunPaused');
  // The first resume counts, since a resume without an answer is sent again.
  const resumed = events.findIndex(({ type }, at) => type === 'RunResumed' && at > paused);
  if (paused === -1 || resumed === -1) return ['its history has no pause with a resume'];
  const sentLater = new Set(
    events.flatMap((event) =>
      event.type === 'SignalReceived' && (event.payload as unknown as Line).n >= sentBeforePause ? [event.inboxId] : [],
    ),
  );
  const early = events
    .slice(0, resumed)
    .filter((event) => event.type === 'SignalDelivered' && sentLater.has(event.inboxId));
  return early.length === 0
    ? []
    : [`read ${early.length} signals that came during its pause before the end of the pause`];
}

/** Checks that no run is unplanned, none is open, and each child is listed as its parent has it. */
export async function checkList(plan: Plan, client: Client): Promise<string[]> {
  const all = await client.list();
  const expected = new Map<string, number>();
  const expect = (workflow: string, status: string, count = 1): void => {
    const kind = `${workflow} ${status}`;
    if (count > 0) expected.set(kind, (expected.get(kind) ?? 0) + count);
  };
  for (const run of plan.runs) expect(run.workflow, 'cancelled' in run ? 'cancelled' : 'completed');
  expect('member', 'completed', plan.children.completed);
  expect('member', 'cancelled', plan.children.cancelled);
  const listed = new Map<string, number>();
  for (const { workflow, status } of all) {
    const kind = `${workflow} ${status}`;
    listed.set(kind, (listed.get(kind) ?? 0) + 1);
  }
  return [...new Set([...expected.keys(), ...listed.keys()])].flatMap((kind) => {
    const [has, wants] = [listed.get(kind) ?? 0, expected.get(kind) ?? 0];
    return has === wants ? [] : [`the list has ${has} runs "${kind}", not ${wants}`];
  });
}

export function checkRemotes(remotes: Remotes): string[] {
  return Object.entries(remotes.working())
    .filter(([, count]) => count > 0)
    .map(([server, count]) => `${count} tasks of ${server} are working that no wait needs`);
}

export interface Left {
  readonly problems: readonly string[];
  /**
   * Heads of ended runs with a marker in the future and nothing else left: the process was killed while it removed
   * their markers, and the sweep at that instant removes the last one.
   */
  readonly forLater: number;
}

/** Counts markers and listed leftovers in the engine's database, whenever they are due. */
export async function leftInDatabase(endpoint: string, crashesAtMs: readonly number[]): Promise<Left> {
  const client = createDynamoDbClient({ endpoint });
  try {
    const table = new DynamoDbTable({ client, tableName: 'outwait', ...system });
    const store = new RunStore(new SealedTable(table, undefined));
    const problems: string[] = [];
    let forLater = 0;
    const shards = await store.lists.readDueShards();
    for (let shard = 0; shard < shards; shard++) {
      const { rows } = await store.lists.due(shard, Number.MAX_SAFE_INTEGER, pageSize);
      for (const { kind, runId, dueAtMs } of rows) {
        const head = await store.heads.read(runId);
        const endedAtMs = head?.endedAtMs ?? Infinity;
        const isCut = crashesAtMs.some((atMs) => endedAtMs <= atMs && endedAtMs > atMs - cutMaxMs);
        if (kind === 'run' && isCut && dueAtMs > Date.now() + laterMs) forLater++;
        else problems.push(`a marker of run ${runId} (${kind}), due ${new Date(dueAtMs).toISOString()}`);
      }
    }
    const orphans = await store.lists.orphans(pageSize);
    problems.push(
      ...orphans.rows.map(({ runId, waitId }) => `an orphaned remote task of run ${runId}, wait ${waitId}`),
    );
    const inputs = await store.lists.inputs(pageSize);
    problems.push(...inputs.rows.map(({ runId }) => `a question of run ${runId}`));
    return { problems, forLater };
  } finally {
    client.destroy();
  }
}

const text = (value: unknown): string => JSON.stringify(value).slice(0, 300);

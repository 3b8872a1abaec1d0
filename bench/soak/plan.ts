import type { JsonValue } from '../../lib/base/json.js';
import type { Line, Remote } from './app/workflows.js';

// Plans what the soak starts and sends and the expected results, as a function of scale and seed.

export const senders = [0, 1] as const;
/** Signals that each sender sends to one run. */
export const linesPerSender = 5;
/** Signals of these that are sent before the run is paused. */
export const sentBeforePause = 2;
export const membersPerFamily = 4;

export type PlannedRun = {
  /** The key of its start, by which the ledger knows the run. */
  readonly name: string;
  readonly input: JsonValue;
} & (
  | { readonly workflow: 'quote'; readonly result: number }
  | {
      readonly workflow: 'inbox';
      readonly answer: number;
      /** Number of its signals with a name that the workflow does not read; they are sent first. */
      readonly unread: number;
      /** Duration of a pause between the two halves of its signals. */
      readonly pauseMs?: number;
    }
  | { readonly workflow: 'family'; readonly result: { readonly answer: number; readonly values: readonly number[] } }
  /** Cancelled when all children are waiting. */
  | { readonly workflow: 'family'; readonly cancelled: true; readonly memberNames: readonly string[] }
  | { readonly workflow: 'booking'; readonly result: number }
  /** Cancelled this long after its start was accepted, or, if missing, when it has booked everything. */
  | { readonly workflow: 'booking'; readonly cancelled: true; readonly afterMs?: number }
);

export interface Plan {
  readonly runs: readonly PlannedRun[];
  readonly signals: number;
  readonly children: { readonly completed: number; readonly cancelled: number };
  readonly pauses: number;
  readonly cancels: number;
}

/** Numbers of runs at scale 1: 2,000 runs, 5,000 signals, 1,000 children. */
const counts = {
  quotes: 900,
  inboxes: 300,
  inboxesWithUnread: 50,
  pausedInboxes: 150,
  families: 225,
  cancelledFamilies: 25,
  bookings: 100,
  cancelledBookings: 250,
} as const;

/** Plans the runs. Each kind has at least one run, however small the scale. */
export function makePlan(scale: number, random: () => number): Plan {
  const runs: PlannedRun[] = [];
  const many = (kind: keyof typeof counts, make: (name: string) => PlannedRun): void => {
    const count = Math.max(1, Math.round(counts[kind] * scale));
    for (let at = 0; at < count; at++) runs.push(make(`${kind}-${at}`));
  };
  const upTo = (max: number): number => Math.floor(random() * max);
  const aRemote = (): { remote: Remote; answer: number } => {
    if (random() < 0.5) {
      const month = 1 + upTo(12);
      return { remote: { kind: 'export', month: `2026-${String(month).padStart(2, '0')}` }, answer: 400 + month };
    }
    const quantity = 1 + upTo(200);
    const cents = quantity * 250;
    return { remote: { kind: 'quote', quantity }, answer: quantity >= 100 ? Math.round(cents * 0.9) : cents };
  };

  many('quotes', (name) => {
    const { remote, answer } = aRemote();
    const add = upTo(1_000);
    return { name, workflow: 'quote', input: { remote, add }, result: add + answer };
  });
  const anInbox = (name: string, unread: number, pauseMs?: number): PlannedRun => {
    const { remote, answer } = aRemote();
    const input = { remote, count: senders.length * linesPerSender - unread };
    return { name, workflow: 'inbox', input, answer, unread, ...(pauseMs === undefined ? {} : { pauseMs }) };
  };
  many('inboxes', (name) => anInbox(name, 0));
  many('inboxesWithUnread', (name) => anInbox(name, senders.length));
  many('pausedInboxes', (name) => anInbox(name, 0, upTo(2_000)));
  many('families', (name) => {
    const { remote, answer } = aRemote();
    const members = Array.from({ length: membersPerFamily }, (_, at) => {
      const value = upTo(1_000);
      const own = at === 0 ? aRemote() : undefined;
      return {
        input: { name: `${name}-${at}`, value, ...(own === undefined ? {} : { remote: own.remote }) },
        value: value * value + (own?.answer ?? 0),
      };
    });
    return {
      name,
      workflow: 'family',
      input: { remote, members: members.map(({ input }) => input) },
      result: { answer, values: members.map(({ value }) => value) },
    };
  });
  many('cancelledFamilies', (name) => {
    const memberNames = Array.from({ length: membersPerFamily }, (_, at) => `${name}-${at}`);
    const members = memberNames.map((of) => ({ name: of, value: 1, isStuck: true }));
    // A task of the agent would be listed as left running, since the agent refuses to cancel a task that has ended
    // meanwhile.
    const remote: Remote = { kind: 'export', month: '2026-01' };
    return { name, workflow: 'family', input: { remote, members }, cancelled: true, memberNames };
  });
  many('bookings', (name) => {
    const { remote, answer } = aRemote();
    return { name, workflow: 'booking', input: { name, remote }, result: answer };
  });
  many('cancelledBookings', (name) => {
    const after = random() < 0.5 ? { afterMs: upTo(3_000) } : {};
    return { name, workflow: 'booking', input: { name }, cancelled: true, ...after };
  });

  shuffle(runs, random);
  const isCancelled = (run: PlannedRun): boolean => 'cancelled' in run;
  const families = runs.filter(({ workflow }) => workflow === 'family');
  const cancelledFamilies = families.filter(isCancelled).length;
  return {
    runs,
    signals: runs.filter(({ workflow }) => workflow === 'inbox').length * senders.length * linesPerSender,
    children: {
      completed: (families.length - cancelledFamilies) * membersPerFamily,
      cancelled: cancelledFamilies * membersPerFamily,
    },
    pauses: runs.filter((run) => 'pauseMs' in run).length,
    cancels: runs.filter(isCancelled).length,
  };
}

/** Returns the signals of one sender, in order. */
export function signalsOf(
  { name, unread }: { readonly name: string; readonly unread: number },
  sender: number,
): { readonly name: 'line' | 'extra'; readonly key: string; readonly payload: Line }[] {
  return Array.from({ length: linesPerSender }, (_, n) => ({
    name: n < unread / senders.length ? 'extra' : 'line',
    key: `${name}/${sender}/${n}`,
    payload: { sender, n },
  }));
}

function shuffle(items: unknown[], random: () => number): void {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [items[at], items[other]] = [items[other], items[at]];
  }
}

import { unitsOf, type Usage } from './capacity.js';
import { figure, type Figure } from './figure.js';
import { costOfRun, type RunCost } from './measure-requests.js';
import type { Database } from './stores.js';

export interface Counts {
  readonly figures: readonly Figure[];
  /** Writes of the run without polls and of the run with 100, by store method. */
  readonly writesByMethod: Readonly<Record<'0 polls' | '100 polls', Readonly<Record<string, Usage>>>>;
}

const moreSteps = 10;
const polls = 100;

/** Counts requests, capacity and invocations. The counts are the same on every machine. */
export async function countFigures(database: Database): Promise<Counts> {
  const base = await costOfRun(database, { steps: 3, polls: 0 });
  const longer = await costOfRun(database, { steps: 3 + moreSteps, polls: 0 });
  const polled = await costOfRun(database, { steps: 3, polls });
  return {
    figures: [
      ...runFigures('run.0polls', base, { requests: 11, units: 24 }),
      ...runFigures('run.100polls', polled),
      figure('run.100polls.pollMessages', polled.pollMessages, 'messages'),
      ...differenceFigures('step', base, longer, moreSteps, 1),
      ...settlementFigures(base),
      ...differenceFigures('poll', base, polled, polls),
    ],
    writesByMethod: { '0 polls': base.writesByMethod, '100 polls': polled.writesByMethod },
  };
}

function runFigures(
  name: string,
  cost: RunCost,
  aim?: { readonly requests: number; readonly units: number },
): readonly Figure[] {
  return [
    figure(`${name}.writeRequests`, cost.writes.requests, 'requests', aim && { atMost: aim.requests }),
    figure(`${name}.writeUnits`, unitsOf(cost.writes), 'write units', aim && { atMost: aim.units }),
    figure(`${name}.readRequests`, cost.reads.requests, 'requests'),
    figure(`${name}.readUnits`, unitsOf(cost.reads), 'read units'),
    figure(`${name}.turnInvocations`, cost.turnInvocations, 'invocations', { atMost: 2 }),
  ];
}

/** Returns what each of the `count` additional steps or polls added. */
function differenceFigures(
  name: string,
  from: RunCost,
  to: RunCost,
  count: number,
  aimRequests?: number,
): readonly Figure[] {
  const each = (of: (cost: RunCost) => number): number => (of(to) - of(from)) / count;
  return [
    figure(
      `${name}.writeRequests`,
      each((cost) => cost.writes.requests),
      'requests',
      aimRequests === undefined ? undefined : { atMost: aimRequests },
    ),
    figure(
      `${name}.writeUnits`,
      each((cost) => unitsOf(cost.writes)),
      'write units',
    ),
    figure(
      `${name}.readUnits`,
      each((cost) => unitsOf(cost.reads)),
      'read units',
    ),
    figure(
      `${name}.turnInvocations`,
      each((cost) => cost.turnInvocations),
      'invocations',
    ),
  ];
}

/**
 * Returns the figures of the write that settles and of the write that removes its marker after a turn has taken it in.
 */
function settlementFigures({ writesByMethod }: RunCost): readonly Figure[] {
  const writes = ['tokens.settle', 'tokens.clearMarker'].map((method) => {
    const usage = writesByMethod[method];
    if (usage === undefined) throw new Error(`the run has made no ${method}`);
    return usage;
  });
  return [
    figure('settlement.writeRequests', sum(writes.map((usage) => usage.requests)), 'requests'),
    figure('settlement.writeUnits', sum(writes.map(unitsOf)), 'write units'),
    figure('settlement.turnInvocations', 1, 'invocations'),
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

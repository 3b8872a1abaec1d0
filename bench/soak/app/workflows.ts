import { dataOf, defineWorkflow, type WorkflowContext } from 'outwait';
import { z } from 'zod';
import { post } from './bookings.js';

// The workflows of the soak. `name` is the driver's name for the run, which the ledger receives; the driver can compute
// all results beforehand.

const exported = z.object({ rows: z.int() });
const quoted = z.object({ totalCents: z.int() });

export type Remote =
  { readonly kind: 'export'; readonly month: string } | { readonly kind: 'quote'; readonly quantity: number };

/** Returns the rows of an export, or the price of a quote. */
async function ask(ctx: WorkflowContext, remote: Remote): Promise<number> {
  if (remote.kind === 'export') {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      arguments: { month: remote.month },
    });
    return exported.parse(dataOf(outcome)).rows;
  }
  const outcome = await ctx.callRemoteTask({
    server: 'supplier',
    skill: 'quote',
    arguments: { article: 'bolt', quantity: remote.quantity },
    // The agent ignores keys: a start that a crash cut off is repeated, and its first task ends by itself.
    retrySafe: true,
  });
  return quoted.parse(dataOf(outcome)).totalCents;
}

/** Waits for a task that works until it is cancelled. */
async function askInVain(ctx: WorkflowContext): Promise<number> {
  await ctx.callRemoteTask({ server: 'stuck', tool: 'start_export', arguments: { month: '2026-01' } });
  return 0;
}

export const quote = defineWorkflow<{ readonly remote: Remote; readonly add: number }>({
  name: 'quote',
  async run(ctx, { remote, add }) {
    const before = await ctx.step('before', () => add);
    const answer = await ask(ctx, remote);
    return ctx.step('after', () => before + answer);
  },
});

export interface Line {
  readonly sender: number;
  readonly n: number;
}

/** Reads `count` signals while a remote task works. */
export const inbox = defineWorkflow<{ readonly remote: Remote; readonly count: number }>({
  name: 'inbox',
  async run(ctx, { remote, count }) {
    const answer = ask(ctx, remote);
    const lines: Line[] = [];
    while (lines.length < count) lines.push((await ctx.signal('line')) as unknown as Line);
    return { lines, answer: await answer };
  },
});

export const member = defineWorkflow<
  { readonly name: string; readonly value: number; readonly remote?: Remote; readonly isStuck?: boolean },
  number
>({
  name: 'member',
  async run(ctx, { name, value, remote, isStuck = false }) {
    const square = await ctx.step('square', () => value * value);
    if (isStuck) {
      await ctx.step('say so', ({ signal }) => post('book', name, 'member', signal));
      return askInVain(ctx);
    }
    return square + (remote === undefined ? 0 : await ask(ctx, remote));
  },
});

interface FamilyInput {
  readonly remote: Remote;
  readonly members: readonly Parameters<typeof member.run>[1][];
}

export const family = defineWorkflow<FamilyInput>({
  name: 'family',
  async run(ctx, { remote, members }) {
    const [answer, values] = await Promise.all([ask(ctx, remote), ctx.map(members, (of) => ctx.child(member, of))]);
    return { answer, values };
  },
});

/**
 * Books, and undoes its bookings if it is cancelled. Registers each compensation before its booking, because a cancel
 * may come while the booking is made.
 */
export const booking = defineWorkflow<{ readonly name: string; readonly remote?: Remote }>({
  name: 'booking',
  run: async (ctx, { name, remote }) =>
    ctx.saga(async (saga) => {
      for (const what of ['flight', 'hotel']) {
        saga.compensate(`undo ${what}`, ({ signal }) => post('undo', name, what, signal));
        await ctx.step(`book ${what}`, ({ signal }) => post('book', name, what, signal));
      }
      return remote === undefined ? askInVain(ctx) : ask(ctx, remote);
    }),
});

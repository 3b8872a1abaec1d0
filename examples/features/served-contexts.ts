import { defineApp, defineWorkflow } from 'outwait';
import { z } from 'zod';

/** Books one message of a conversation; the next one of the same context waits until it is booked. */
const clerk = defineWorkflow({
  name: 'clerk',
  input: z.object({ messageId: z.string(), parts: z.array(z.unknown()), contextId: z.string() }),
  run: async (ctx, { messageId, contextId }) => {
    const line = await ctx.step('book', async () => `${contextId}: ${messageId}`);
    ctx.progress('Booked, and waiting for the bank.');
    await ctx.sleep({ minutes: 5 });
    return line;
  },
});

/** Tasks of one context look things up side by side. */
const balance = defineWorkflow({
  name: 'balance',
  input: z.object({ account: z.string() }),
  run: async (ctx, { account }) => ({ account, context: ctx.task?.contextId ?? 'none' }),
});

export default defineApp({
  workflows: [clerk, balance],
  serve: {
    agent: { name: 'Clerk', description: 'Books what it is told, in the order in which it is told.' },
    // Without a skill: tasks of a context run one after the other, as in a conversation.
    onMessage: 'clerk',
    // Tasks of a skill run side by side, unless it says `context: 'queue'`.
    skills: { balance: { description: 'Tells the balance of an account.', context: 'parallel' } },
  },
});

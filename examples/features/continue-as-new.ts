import { defineWorkflow } from 'outwait';

interface Inbox {
  readonly handled: number;
}

export const mailbox = defineWorkflow<Inbox>({
  name: 'mailbox',
  async run(ctx, { handled }) {
    let count = handled;
    while (!ctx.shouldContinueAsNew) {
      const mail = await ctx.signal('mail');
      await ctx.step('handle', () => mail);
      count++;
    }
    return ctx.continueAsNew({ handled: count });
  },
});

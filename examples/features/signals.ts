import { defineWorkflow, hasCode } from 'outwait';
import { z } from 'zod';

const decision = z.object({ approved: z.boolean(), by: z.string() });

export const approval = defineWorkflow({
  name: 'approval',
  async run(ctx) {
    try {
      // A signal that came earlier is already waiting.
      const { by } = await ctx.signal('decision', {
        schema: decision,
        where: ({ approved }) => approved,
        timeout: { days: 7 },
      });
      return `approved by ${by}`;
    } catch (error) {
      if (!hasCode(error, 'SIGNAL_TIMED_OUT')) throw error;
      return 'nobody approved';
    }
  },
});

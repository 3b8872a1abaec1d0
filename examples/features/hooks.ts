import { defineApp, defineWorkflow, githubWebhook, secret } from 'outwait';
import { z } from 'zod';

export const review = defineWorkflow<{ number: number }>({
  name: 'review',
  run: async (ctx, { number }) => {
    await ctx.step('assign', () => `a reviewer of #${number}`);
    return ctx.signal('closed', { schema: z.object({ merged: z.boolean() }) });
  },
});

const pullRequest = z.object({
  action: z.string(),
  number: z.number(),
  pull_request: z.object({ merged: z.boolean() }),
});

const auth = githubWebhook({ secret: [secret('GITHUB_SECRET'), secret('FORMER_GITHUB_SECRET')] });

export default defineApp({
  workflows: [review],
  hooks: {
    // POST /hooks/opened
    opened: {
      auth,
      workflow: review,
      start: ({ body }) => {
        const { data } = pullRequest.safeParse(body);
        if (data?.action !== 'opened') return undefined;
        return { input: { number: data.number }, key: `pull-request-${data.number}` };
      },
    },
    // POST /hooks/closed
    closed: {
      auth,
      workflow: review,
      signal: ({ body }) => {
        const { data } = pullRequest.safeParse(body);
        if (data?.action !== 'closed') return undefined;
        const { merged } = data.pull_request;
        return { key: `pull-request-${data.number}`, name: 'closed', payload: { merged } };
      },
    },
  },
});

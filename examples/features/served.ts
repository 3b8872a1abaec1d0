import { defineApp, defineWorkflow } from 'outwait';
import { z } from 'zod';

const monthlyReport = defineWorkflow({
  name: 'monthlyReport',
  input: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/) }),
  run: async (ctx, { month }) => {
    ctx.progress(`Reading the bookings of ${month}.`);
    const rows = await ctx.step('read', async () => [`${month}-01;120.00`, `${month}-02;80.00`]);
    const answer = await ctx.ask({
      to: 'caller',
      message: 'Which cost centre?',
      schema: z.object({ costCentre: z.number().int() }),
    });
    if (answer.action !== 'accept') ctx.reject('A report needs a cost centre.');
    else {
      for (const [at, row] of rows.entries())
        ctx.artifact({ artifactId: 'rows', text: row, append: true, lastChunk: at === rows.length - 1 });
      return { month, costCentre: answer.content.costCentre, rows: rows.length };
    }
    return undefined;
  },
});

/** Takes messages that name no skill, and goes on with the conversation until the caller says goodbye. */
const triage = defineWorkflow({
  name: 'triage',
  input: z.object({ messageId: z.string(), parts: z.array(z.unknown()), contextId: z.string() }),
  run: async (ctx) => {
    let count = 1;
    ctx.progress('How can I help?');
    for await (const { parts } of ctx.messages()) {
      count++;
      if (parts.some((part) => 'text' in part && part.text.includes('bye'))) break;
      ctx.progress(`I have ${count} messages.`);
    }
    return `${count} messages, goodbye.`;
  },
});

export default defineApp({
  workflows: [monthlyReport, triage],
  serve: {
    agent: { name: 'Finance desk', description: 'Reports on bookings, and answers questions about them.' },
    skills: {
      monthlyReport: {
        description: 'Writes the report of a month.',
        tags: ['report'],
        examples: ['Write the report of October 2026.'],
      },
    },
    onMessage: 'triage',
  },
});

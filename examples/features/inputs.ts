import { answerWith, askPerson, defineWorkflow } from 'outwait';
import { z } from 'zod';

const closing = z.object({ note: z.string().optional() });

export const quarterEnd = defineWorkflow({
  name: 'quarterEnd',
  async run(ctx) {
    // The agent asks which cost centre to use; the answer is always the same.
    const quote = await ctx.callRemoteTask({
      server: 'supplier',
      skill: 'quote',
      onInput: answerWith({ costCentre: '4711' }),
    });
    // The reporting system asks before it sends anything: a person decides, or the question times out after four hours.
    const sent = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'send_report',
      timeout: { days: 1 },
      onInput: askPerson({ timeout: { hours: 4 }, ifUnanswered: { action: 'decline' } }),
    });
    const decision = await ctx.ask({ message: 'Close the quarter?', schema: closing, timeout: { days: 3 } });
    const note = decision.action === 'accept' ? decision.content.note : undefined;
    return { quote: quote.result, sent: sent.result, closed: decision.action === 'accept', note };
  },
});

import { defineApp, defineWorkflow } from 'outwait';
import { z } from 'zod';

const payroll = defineWorkflow({
  name: 'payroll',
  input: z.object({ month: z.string() }),
  run: async (ctx, { month }) => {
    // The caller is who its credential says, whatever the message says. Undefined: the run was not started by a caller.
    const { id, tenant } = ctx.caller ?? {};
    if (tenant === undefined) return ctx.reject('Payrolls are for the callers of a company.');
    return ctx.step('read', async () => ({ month, company: tenant, readBy: id ?? 'nobody' }));
  },
});

export default defineApp({
  workflows: [payroll],
  serve: {
    agent: {
      name: 'Payroll',
      description: 'Payrolls of companies.',
      // Tells clients what to send. Who gets in is decided by the deployment.
      security: [{ name: 'key', type: 'http', scheme: 'bearer' }],
    },
    // The public card does not name the skill, the extended one does.
    skills: { payroll: { description: 'Reads the payroll of a month.', listed: 'callers' } },
  },
});

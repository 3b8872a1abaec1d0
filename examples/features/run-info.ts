import { defineWorkflow } from 'outwait';

export const invoicedExport = defineWorkflow({
  name: 'invoicedExport',
  run: async (ctx) => {
    const { tags, parent } = ctx.info;
    const call = ctx.callRemoteTask({ server: 'reports', tool: 'start_export' });
    // The server is sent the same key, so that the bill and the export can be matched.
    const key = ctx.info.idempotencyKeyOf(call);
    await ctx.step('bill', () => ({ key, customer: tags['customer'] ?? parent?.runId ?? 'nobody' }));
    return (await call).isError ? 'refused' : 'exported';
  },
});

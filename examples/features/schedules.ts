import { defineApp, defineWorkflow } from 'outwait';

export const nightlyReport = defineWorkflow<{ region: string }>({
  name: 'nightlyReport',
  run: async (ctx, { region }) => ctx.step('report', () => `report of ${region}`),
});

export default defineApp({
  workflows: [nightlyReport],
  schedules: [
    {
      name: 'report-north',
      workflow: nightlyReport,
      input: { region: 'north' },
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      overlap: 'buffer',
      jitter: { minutes: 10 },
    },
  ],
});

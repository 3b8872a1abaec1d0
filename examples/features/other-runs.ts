import { defineApp, defineWorkflow } from 'outwait';

interface Order {
  readonly order: string;
}

/** Sends a reminder, unless it is told to stop. */
export const reminder = defineWorkflow<Order>({
  name: 'reminder',
  run: async (ctx, { order }) => {
    const wasStopped = await ctx.signal('stop', { timeout: { seconds: 1 } }).then(
      () => true,
      () => false,
    );
    if (wasStopped) return 'stopped';
    return ctx.step('send', () => `please pay ${order}`);
  },
});

export const orders = defineWorkflow<Order>({
  name: 'orders',
  run: async (ctx, { order }) => {
    const reminderId = await ctx.startRun(reminder, { order }, { delay: { days: 7 } });
    const paid = await ctx.signal('paid', { timeout: { days: 30 } }).then(
      () => true,
      () => false,
    );
    // False if the reminder has been sent before.
    return { paid, wasInTime: paid && (await ctx.signalRun(reminderId, 'stop')) };
  },
});

export default defineApp({ workflows: [orders, reminder] });

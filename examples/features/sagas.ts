import { defineWorkflow } from 'outwait';

export const trip = defineWorkflow({
  name: 'trip',
  run: async (ctx) =>
    ctx.saga(async (saga) => {
      const flight = await ctx.step('book flight', () => 'flight 7');
      saga.compensate('cancel flight', () => cancel(flight));
      const hotel = await ctx.step('book hotel', () => 'room 12');
      saga.compensate('cancel hotel', () => cancel(hotel), { retry: { maxAttempts: 20 } });
      await ctx.step('pay', () => 'paid');
      return [flight, hotel];
    }),
});

async function cancel(booking: string): Promise<void> {
  await Promise.resolve(booking);
}

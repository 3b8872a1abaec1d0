import { defineApp, defineWorkflow } from 'outwait';

interface Order {
  readonly customer: string;
  readonly lines: readonly string[];
}

// Runs of one customer wait for one another, in order.
export const book = defineWorkflow<Order>({
  name: 'book',
  concurrency: { key: ({ customer }) => customer, whenBusy: 'queue' },
  run: async (ctx, { lines }) => ctx.step('book', () => lines.length),
});

// Letters: at most 10 a minute, whoever asks for them.
export const letter = defineWorkflow<Order>({
  name: 'letter',
  throttle: { limit: 10, period: { minutes: 1 } },
  run: async (ctx, { customer }) => ctx.step('print', () => `to ${customer}`),
});

// Makes one index after the last of many changes, 5 minutes after the first at the latest.
export const index = defineWorkflow<Order>({
  name: 'index',
  debounce: { key: ({ customer }) => customer, period: { seconds: 30 }, maxWait: { minutes: 5 } },
  run: async (ctx, { customer }) => ctx.step('index', () => `of ${customer}`),
});

export default defineApp({ workflows: [book, letter, index] });

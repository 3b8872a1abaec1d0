import { a2aAgent, defineApp, mcpServer } from 'outwait';
import { monthlyReport } from './monthly-report/workflow.js';
import { supplierQuote } from './supplier-quote/workflow.js';

export default defineApp({
  workflows: [monthlyReport, supplierQuote],
  servers: {
    // This server starts one task per idempotency key, so a start without an answer may be repeated.
    reports: mcpServer({ url: process.env['DEMO_MCP_URL'] ?? 'http://127.0.0.1:4101/mcp', dedupes: true }),
    supplier: a2aAgent({ card: process.env['DEMO_A2A_URL'] ?? 'http://127.0.0.1:4102/a2a' }),
  },
});

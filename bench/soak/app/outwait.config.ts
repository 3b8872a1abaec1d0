import { a2aAgent, defineApp, mcpServer } from 'outwait';
import { booking, family, inbox, member, quote } from './workflows.js';

const protocolVersion = '2026-07-28';

export default defineApp({
  workflows: [quote, inbox, family, member, booking],
  servers: {
    reports: mcpServer({ url: process.env['SOAK_REPORTS_URL'] ?? '', dedupes: true, protocolVersion }),
    stuck: mcpServer({ url: process.env['SOAK_STUCK_URL'] ?? '', dedupes: true, protocolVersion }),
    supplier: a2aAgent({ url: process.env['SOAK_SUPPLIER_URL'] ?? '' }),
  },
});

import { defineApp } from 'outwait';
import { ledger } from './workflow.js';

export default defineApp({
  workflows: [ledger],
  serve: {
    agent: { name: 'Finance desk', description: 'Ledgers of bookings.' },
    skills: { ledger: { description: 'Writes the ledger of a month.', tags: ['report'] } },
  },
});

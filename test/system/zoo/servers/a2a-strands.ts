// Strands Agents 1.62.0 (`A2AServer`) over JSON-RPC 0.3, recorded on 2026-11-30.
//
// Each piece of text that the model streamed is a separate part, and the last one is empty.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aStrands: ZooAnimal = {
  name: 'a2a-strands',
  title: 'Strands Agents',
  version: '1.62.0',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three \nrows\n' },
    slow: { kind: 'completed', text: 'three \nrows\n' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'Agent execution failed' },
  },
};

// Google ADK 2.13.0 (`to_a2a`) over JSON-RPC 1.0, recorded on 2026-11-30.
//
// Its card offers only 1.0.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aAdk: ZooAnimal = {
  name: 'a2a-adk',
  title: 'Google ADK',
  version: '2.13.0',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'no stock' },
  },
};

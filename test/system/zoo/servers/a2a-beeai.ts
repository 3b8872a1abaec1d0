// BeeAI Framework 0.1.85 (`A2AServer`) over JSON-RPC 0.3, recorded on 2026-11-30.
//
// Answers a start only when the work is done, with a message that names a task which cannot be read. A failure is a
// message like any other.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aBeeai: ZooAnimal = {
  name: 'a2a-beeai',
  title: 'BeeAI Framework',
  version: '0.1.85',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'silent' },
    fail: { kind: 'completed', text: 'Framework error' },
  },
};

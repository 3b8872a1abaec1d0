// Microsoft Agent Framework (agent-framework-a2a 1.0.0b261022) over JSON-RPC 1.0, recorded on 2026-11-30.
//
// Its answer is only in the history.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aAgentFramework: ZooAnimal = {
  name: 'a2a-agent-framework',
  title: 'Microsoft Agent Framework',
  version: '1.0.0b261022',
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

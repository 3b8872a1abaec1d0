// A2a-go 0.3.3 over JSON-RPC 0.3, recorded on 2026-11-30.
//
// Sends JSON as `text/plain`; its card has an empty `protocolVersion` if the author sets none. Tasks that end at once
// are in the answer to the start. An agent that fails after its task was made leaves it working for ever.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aGo03: ZooAnimal = {
  name: 'a2a-go-0.3',
  title: 'a2a-go',
  version: '0.3.3',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'no stock' },
    message: { kind: 'completed', text: 'the answer' },
    'message-task': { kind: 'completed', text: 'the answer' },
    history: { kind: 'completed', text: 'the answer' },
    crash: { kind: 'refused', reason: 'internal error' },
    'late-crash': { kind: 'working' },
  },
};

// The A2A SDK for Python, 1.3.0, over JSON-RPC 1.0, recorded on 2026-11-30.
//
// Answers a start at once and continues to work. A message with a task id stands for no task that can be read. An agent
// that puts its answer into a status message leaves it only in the history.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aPython1: ZooAnimal = {
  name: 'a2a-python-1',
  title: 'A2A SDK for Python, JSON-RPC',
  version: '1.3.0',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    ask: { kind: 'completed', text: 'three rows' },
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'no stock' },
    message: { kind: 'completed', text: 'the answer' },
    'message-task': { kind: 'completed', text: 'the answer' },
    history: { kind: 'completed', text: 'the answer' },
    crash: { kind: 'refused', reason: 'the agent broke' },
    'late-crash': { kind: 'failed', reason: 'no reason was given' },
  },
};

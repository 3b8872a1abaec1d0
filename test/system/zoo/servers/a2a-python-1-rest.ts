// The A2A SDK for Python, 1.3.0, over HTTP+JSON 1.0, recorded on 2026-11-30.
//
// Sends `application/a2a+json`. Agent code that raises is answered with 500 and an error of the application.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aPython1Rest: ZooAnimal = {
  name: 'a2a-python-1-rest',
  title: 'A2A SDK for Python, HTTP+JSON',
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
    crash: { kind: 'refused', reason: 'unknown exception' },
    'late-crash': { kind: 'failed', reason: 'no reason was given' },
  },
};

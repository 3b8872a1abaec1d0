// The A2A SDK for Python, 0.3.26, over JSON-RPC 0.3, recorded on 2026-11-30.
//
// An agent that fails before its task exists breaks off the stream, so the result of a start over a stream is unknown.
// An agent that fails after its task was made leaves it working for ever. Each read includes the history, requested or
// not.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aPython03: ZooAnimal = {
  name: 'a2a-python-0.3',
  title: 'A2A SDK for Python, 0.3',
  version: '0.3.26',
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
    'late-crash': { kind: 'working' },
  },
  endsOverStream: { crash: { kind: 'silent' } },
};

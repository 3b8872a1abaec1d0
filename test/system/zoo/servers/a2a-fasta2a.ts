// Fasta2a 2.1.1 with Pydantic AI 2.68.0 over JSON-RPC 1.0, recorded on 2026-11-30.
//
// Has one worker: a cancel is answered when the work before it is done, and that work completes. A failure has no
// reason.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aFasta2a: ZooAnimal = {
  name: 'a2a-fasta2a',
  title: 'fasta2a (Pydantic AI)',
  version: '2.1.1',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: origin }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'completed', text: 'three rows' },
    fail: { kind: 'failed', reason: 'no reason was given' },
  },
};

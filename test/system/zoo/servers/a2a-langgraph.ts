// LangGraph API 0.16.7 (`langgraph dev`) over JSON-RPC 1.0, recorded on 2026-11-30.
//
// A start over a stream names its task at once. A read of a task has no artifacts: the server's own text stands in
// place of an answer, and the agent's messages are in the history.
//
// There is an agent for each assistant, whose id is in the query of the card. Answers a start only when the work is
// done; a task whose caller has hung up continues, is listed by its context and can be cancelled.

import { a2aAgent } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const a2aLanggraph: ZooAnimal = {
  name: 'a2a-langgraph',
  title: 'LangGraph API',
  version: '0.16.7',
  recordedOn: '2026-11-30',
  entry: (origin) => a2aAgent({ card: `${origin}/?assistant_id=d299b044-2a5b-53b3-a61c-fb422a555a41` }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'silent' },
    find: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'Error executing assistant: RuntimeError' },
  },
  endsOverStream: {
    quick: { kind: 'completed', text: 'Task completed successfully' },
    slow: { kind: 'completed', text: 'Task completed successfully' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'failed', reason: 'Task failed with status: error' },
  },
};

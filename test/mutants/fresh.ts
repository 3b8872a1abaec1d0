import { rules, type Mutant } from './mutant.js';

export const freshMutants: readonly Mutant[] = [
  {
    name: 'moved-deadline-refuses',
    rule: 'a deadline that was moved before the wait was settled as timed out leaves it to the settler',
    file: 'lib/operations/settle-in-time.ts',
    edits: [{ find: 'if (late.timedOut || late.token?.settlement !== undefined) return', replace: 'return' }],
    caughtBy: rules('deadlines', 'settled in time after all'),
  },
  {
    name: 'look-recorded-twice',
    rule: 'a look for a task that the log has is dropped from what is in hand',
    file: 'lib/operations/turn-work.ts',
    edits: [{ find: 'isNext(wait, event) && event.look === (wait.look ?? 0) + 1', replace: 'isNext(wait, event)' }],
    caughtBy: rules('starting', 'asked for: a look that another turn has made'),
  },
];

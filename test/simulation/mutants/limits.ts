import { testsIn, type Mutant } from './mutant.js';

const serverLimits = 'lib/store/parts/server-limits.ts';
const limiter = 'lib/remote/guard/rate-limiter.ts';
const permits = 'lib/remote/guard/permits.ts';
const unit = 'test/unit/remote/rate-limiter.test.ts';
const store = 'test/unit/store/server-limits.test.ts';

export const limitsMutants: readonly Mutant[] = [
  {
    name: 'permits-beyond-the-limit',
    rule: 'L1  the permits leased in one minute are never more than the limit',
    file: serverLimits,
    edits: [{ find: 'fewerRequestsThan(perMinute - count + 1),', replace: '' }],
    caughtBy: testsIn(store, 'the rate of a server is leased in blocks'),
  },
  {
    name: 'minute-opened-twice',
    rule: 'L1  ... and one worker opens a minute',
    file: serverLimits,
    edits: [{ find: 'conditions: [minuteBefore(minute)],', replace: 'conditions: [],' }],
    caughtBy: testsIn(store, 'the rate of a server begins anew with each minute'),
  },
  {
    name: 'permits-that-do-not-lapse',
    rule: 'L2  a permit is used within the minute of its lease',
    file: limiter,
    edits: [{ find: '      hand.permits = 0;\n', replace: '' }],
    caughtBy: testsIn(unit, 'the bound of a rate L2: counts no permit of the minute before'),
  },
  {
    name: 'starts-take-what-reads-wait-for',
    rule: 'L3  reads that wait get a third of the permits',
    file: permits,
    edits: [{ find: '  if (isWaiting) return own;\n', replace: '  if (own > 0) return perMinute;\n' }],
    caughtBy: testsIn(unit, 'the shares of starts and reads GB-29: a third is left to reads'),
  },
  {
    name: 'line-begun-twice',
    rule: 'a place in a line is given to one caller',
    file: serverLimits,
    edits: [{ find: 'conditions: [lineEndsBy(kind, fromMs - 1)],', replace: 'conditions: [],' }],
    caughtBy: testsIn(store, 'the rate of a server has a line'),
  },
  {
    name: 'slot-leased-twice',
    rule: 'a slot is leased to one worker at a time',
    file: 'lib/store/parts/slots.ts',
    edits: [{ find: 'conditions: [notTakenAfter(atMs)],', replace: 'conditions: [],' }],
    caughtBy: testsIn(store, 'the slots of a server are leased to as many as there are'),
  },
];

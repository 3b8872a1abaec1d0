import { type Mutant, rules, storePart } from './mutant.js';

const people = (
  name: string,
  rule: string,
  { file, ...edit }: { readonly file: string; readonly find: string; readonly replace: string },
  test: string,
): Mutant => ({ name: `people-${name}`, rule, file, edits: [edit], caughtBy: rules('people', test) });

const decide = 'lib/decide/notices.ts';
const tell = 'lib/operations/people/tell-people.ts';
const issue = 'lib/operations/turn/issue-token.ts';

export const peopleMutants: readonly Mutant[] = [
  people(
    'claims-not-exclusive',
    'of two workers that have read the same, one sends',
    { file: storePart('notices'), find: '[notSettled, writerIs(writerId)]', replace: '[notSettled]' },
    'NOTICE two workers',
  ),
  people(
    'claimed-after-answer',
    'after the answer nothing is claimed',
    { file: storePart('notices'), find: '[notSettled, writerIs(writerId)]', replace: '[writerIs(writerId)]' },
    'NOTICE after the answer',
  ),
  people(
    'sent-unclaimed',
    'a notice is claimed before it is sent',
    {
      file: tell,
      find: 'if (own === undefined) return;',
      replace:
        'if (own === undefined) { await Promise.all(due.map(({ line, at }) => send(deps, token, at, line))); return; }',
    },
    'NOTICE two workers',
  ),
  people(
    'no-marker',
    'the item of a question has the marker of its first notice',
    {
      file: issue,
      find: '...defined({ notices, dueAtMs }),',
      replace: '...defined({ notices }),',
    },
    'NOTICE lost message',
  ),
  people(
    'no-message',
    'the turn asks a worker at once',
    { file: issue, find: 'if (dueAtMs !== undefined) await pollAt', replace: 'if (dueAtMs === -1) await pollAt' },
    'NOTICE each',
  ),
  people(
    'claim-without-return',
    'a claim says when to send again',
    {
      file: decide,
      find: 'dueAtMs: nowMs + Math.ceil(waitMs * (1 + fraction / 4)),',
      replace: 'dueAtMs: nowMs + 1e12,',
    },
    'NOTICE crash at the notice',
  ),
  people(
    'id-by-attempt',
    'a notice has one id for all attempts',
    {
      file: decide,
      find: 'return `${runId}_${waitId}_${at}_${line.number}`;',
      replace: 'return `${runId}_${waitId}_${at}_${line.number + line.tries}`;',
    },
    'NOTICE taken twice',
  ),
  people(
    'lines-wait-for-each-other',
    'the marker is the earliest of all addressees',
    {
      file: decide,
      find: '...lines.map((line) => line.dueAtMs ?? Infinity)',
      replace: '...lines.slice(0, 1).map((line) => line.dueAtMs ?? Infinity)',
    },
    'NOTICE each',
  ),
];

import { type Mutant, rules, storePart } from './mutant.js';

const mutant = (
  name: string,
  rule: string,
  file: string,
  [find, replace]: readonly [string, string],
  test: string,
): Mutant => ({
  name,
  rule,
  file,
  edits: [{ find, replace }],
  caughtBy: rules('tenant-counts', test),
});

export const tenantMutants: readonly Mutant[] = [
  mutant(
    'live-not-limited',
    'a run is put only beside fewer live ones than there may be',
    storePart('tenant-counts'),
    ['Number.isFinite(liveMax) ? [fewerLiveThan(liveMax)] : []', '[]'],
    'no run is put beside as many live ones',
  ),
  mutant(
    'live-start-not-counted',
    'the start of a run is counted with its head',
    storePart('heads'),
    ['...countStart(head, liveMax, caps),', ''],
    'a run is counted once with its head',
  ),
  mutant(
    'live-named-start-not-counted',
    '... and so is one under an id',
    storePart('names'),
    ['...countStart(head, name.liveMax),', ''],
    'no run is put beside as many live ones',
  ),
  mutant(
    'live-end-not-counted',
    'the count ends with the terminal commit',
    storePart('log'),
    ["outcome.status === 'continued' ? [] : countEnd(run)", '[]'],
    'the count ends once with the terminal commit',
  ),
  mutant(
    'live-continued-counted-as-end',
    'a run that continues as another one keeps its count',
    storePart('log'),
    ["outcome.status === 'continued' ? [] : countEnd(run)", 'countEnd(run)'],
    'a run that goes on as another one is counted',
  ),
  mutant(
    'live-count-without-format',
    'a version that does not know counts does not end a run that is counted',
    'lib/store/items/head.ts',
    ['if (counted === true) return { [formatAttribute]: headWithCount };', ''],
    'a head that is counted has a format',
  ),
];

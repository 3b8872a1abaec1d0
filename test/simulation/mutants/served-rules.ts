/** Rules that serving adds to the engine, and the mutants that lack them; `otherwise`: why the build has it not as said. */
export interface ServedRule {
  readonly rule: string;
  readonly mutants?: readonly string[];
  readonly otherwise?: string;
}

const lane = 'a context is a lane of concurrency keys (decision 0026), so its rules are those of lanes';
const retention = 'ended tasks are not deleted yet';
const counted = 'tasks are counted in the way that runs of a tenant are';

/** The rules of the model of serving, by its names. */
export const servedRules: Readonly<Record<string, ServedRule>> = {
  ctxTx: {
    rule: 'The head of a task and its place in its context are one transaction',
    mutants: ['served-context-not-queued'],
    otherwise: lane,
  },
  ctxAsRead: {
    rule: '... if the end of the context is as it was read',
    mutants: ['lanes-pointer-as-it-is'],
    otherwise: lane,
  },
  capInStart: {
    rule: 'A counter goes up in the transaction of the start, if it is below its cap',
    mutants: ['live-not-limited', 'live-start-not-counted'],
    otherwise: counted,
  },
  releaseTx: {
    rule: 'A counter goes down in the terminal transaction',
    mutants: ['live-end-not-counted'],
    otherwise: counted,
  },
  answerOpen: { rule: 'An answer is taken only if the question is open', mutants: ['served-answer-over-answer'] },
  cursorCond: {
    rule: 'The cursor of a push config moves only on a config that is there, under the own claim',
    mutants: ['push-cursor-of-a-replaced-config'],
  },
  headFirst: {
    rule: 'A start whose head is there is known, whatever else refuses it',
    mutants: ['served-known-start-refused'],
  },
  prefix: {
    rule: 'A task that ended before it began passes on to the one before it',
    mutants: ['lanes-looks-back-one-run', 'lanes-cancelled-has-begun'],
    otherwise: lane,
  },
  chainEnd: {
    rule: 'The end of a run that continues is not the end of its task',
    mutants: ['served-continued-goes-on'],
  },
  goItem: {
    rule: 'The end of a task wakes the next one of its context',
    mutants: ['lanes-next-not-told', 'lanes-next-not-marked'],
    otherwise: `${lane}: the head of a run names the one that waits for it, and no inbox item is put`,
  },
  goSkips: {
    rule: '... passing over those that have ended',
    mutants: ['lanes-behind-an-ended-run', 'lanes-ended-run-waits'],
    otherwise: `${lane}: a run leaves its id only with one that has not ended`,
  },
  goneEnded: { rule: 'A predecessor that is gone has ended', otherwise: retention },
  overIsOver: { rule: 'A turn of a run whose head is over writes nothing', otherwise: retention },
  chainKeep: { rule: 'Retention counts from the end of the task, for all its runs', otherwise: retention },
  prevBorn: { rule: 'A predecessor is named with the instant of its start', otherwise: retention },
  goneKey: { rule: 'A start that finds a marked head waits until it is deleted', otherwise: retention },
  delAsRead: { rule: 'Only what was read is deleted', otherwise: retention },
  keepUnbegun: { rule: 'A task that ended before it began is kept until its turn has come', otherwise: retention },
  heldByTask: {
    rule: 'A continued run hands its counters on',
    mutants: ['live-continued-counted-as-end'],
    otherwise: counted,
  },
  holdsOnHead: {
    rule: 'The head says which counters it holds',
    mutants: ['live-count-without-format'],
    otherwise: counted,
  },
  shownAfterItem: { rule: 'A question is shown once its item is there', mutants: ['served-shown-after-item'] },
  answerId: {
    rule: 'An answer puts an inbox item under the id of its message',
    mutants: ['served-answer-without-id', 'served-answer-with-the-end'],
  },
  alongChain: {
    rule: 'The id of a message is looked for in all runs of the task',
    mutants: ['served-along-chain', 'served-repeat-answers-anew'],
  },
  answerCounts: {
    rule: 'An answer is counted in the transaction that puts it',
    mutants: ['served-answer-not-counted'],
  },
  answerNamed: {
    rule: 'An answer names its question',
    mutants: ['served-answer-names-nothing', 'served-answer-renamed', 'served-open-question-stays'],
  },
  cancelWins: { rule: 'With a cancel in the log the outcome is canceled', mutants: ['served-cancel-wins'] },
  endingWaits: {
    rule: 'A request that meets an ending run waits for its terminal commit',
    mutants: ['served-cancel-of-an-ending-run', 'served-message-of-an-ending-run'],
  },
  foldOnly: {
    rule: 'State, version and end of a stream come from the commits alone',
    mutants: ['served-state-of-the-head'],
  },
  eventCursor: {
    rule: 'The cursor of a follower is a generation',
    mutants: ['served-cursor-again', 'served-generation-begins-again'],
  },
  contNotFinal: {
    rule: 'A stream goes on in the next run, also while that is not there yet',
    mutants: ['served-stream-of-one-run'],
  },
  goneMark: { rule: 'A head that is marked for deletion reads as not found', otherwise: retention },
  cfgAtTask: {
    rule: 'Push configs lie with the first run',
    mutants: ['push-configs-lie-with-the-current-run'],
  },
  cfgMarker: { rule: 'A config is put with a marker', mutants: ['push-config-without-marker'] },
  claim: {
    rule: 'A sender claims before it sends, and sends only within its claim',
    mutants: ['push-claim-of-two', 'push-outside-of-claim'],
  },
  owedMark: { rule: 'A turn notes what it owes before its own markers go', mutants: ['push-not-owed'] },
  owedLast: { rule: 'A marker goes only if no more is owed', mutants: ['push-marker-goes-early'] },
  keepOwed: { rule: 'Retention waits for pushes', otherwise: retention },
};

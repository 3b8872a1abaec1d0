// An explicit-state model of starts under one id: every interleaving of a few callers, the turns of the runs, and
// crashes. It looks for two runs that are open at one instant, and for a run that rests for ever.

/** Rules of the engine; a model without one of them must find a violation. */
export interface Rules {
  /** A start follows the chain of the run that the id points to. */
  readonly startFollowsChain: boolean;
  /** A next run that does not exist yet counts as open. */
  readonly comingCounts: boolean;
  /** The pointer is moved only if no other caller has moved it. */
  readonly generation: boolean;
  /** A run that replaces an open one does not begin before that has ended. */
  readonly rests: boolean;
  /** The look of a resting run follows the chain of the other run. */
  readonly lookFollowsChain: boolean;
  /** The resting run requests the end of the other run too, since the caller that started it may have died before. */
  readonly asksAgain: boolean;
  /** A terminate of a resting run waits as well. */
  readonly terminateWaits: boolean;
}

export const allRules: Rules = {
  startFollowsChain: true,
  comingCounts: true,
  generation: true,
  rests: true,
  lookFollowsChain: true,
  asksAgain: true,
  terminateWaits: true,
};

/** Policy of a caller if a run of the id is open; if none is, both start one. */
export type Policy = 'terminate' | 'useExisting';

export interface World {
  readonly callers: readonly Policy[];
  /** Number of times that a run may continue as another one, over all runs. */
  readonly continues: number;
  /** Whether runs may end by themselves. Otherwise a run ends only if it is terminated. */
  readonly finish: boolean;
}

interface Run {
  readonly status: 'new' | 'running' | 'ended' | 'continued';
  /** The run before which it does nothing. */
  readonly after?: number;
  /** Whether a terminate was accepted. */
  readonly isStopped?: boolean;
  /** The run that continues it; missing while its head does not exist yet. */
  readonly next?: number;
}

interface Caller {
  readonly at: 'pointer' | 'chain' | 'create' | 'stop' | 'done';
  /** The run that the pointer led to, and how far its chain was followed. */
  readonly run?: number;
  readonly generation?: number;
  readonly replaces?: number;
}

interface State {
  readonly pointer: number;
  readonly generation: number;
  readonly runs: readonly Run[];
  readonly callers: readonly Caller[];
  readonly continues: number;
}

export interface Found {
  readonly states: number;
  /** `two under way`, `rests for ever`, or undefined for neither. */
  readonly violation: string | undefined;
  /** The steps that led there. */
  readonly path: readonly string[];
}

type Step = readonly [what: string, next: State];

/** Visits every reachable state. */
export function search(world: World, rules: Rules): Found {
  const first: State = {
    pointer: 0,
    generation: 1,
    runs: [{ status: 'running' }],
    callers: world.callers.map(() => ({ at: 'pointer' })),
    continues: 0,
  };
  const from = new Map<string, readonly [parent: string, what: string] | undefined>([
    [JSON.stringify(first), undefined],
  ]);
  const open: State[] = [first];
  const found = (state: State, violation: string): Found => {
    const path: string[] = [];
    for (let step = from.get(JSON.stringify(state)); step !== undefined; step = from.get(step[0]))
      path.unshift(step[1]);
    return { states: from.size, violation, path };
  };
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (state.runs.filter(({ status }) => status === 'running').length > 1) return found(state, 'two under way');
    const key = JSON.stringify(state);
    const steps = [...callerSteps(state, world, rules), ...runSteps(state, world, rules)];
    let goesOn = false;
    for (const [what, next] of steps) {
      const nextKey = JSON.stringify(next);
      if (nextKey === key) continue;
      goesOn = true;
      if (from.has(nextKey)) continue;
      from.set(nextKey, [key, what]);
      open.push(next);
    }
    // Each step that changes anything leads further, so every execution reaches such a state.
    if (!goesOn && state.runs.some(({ status }) => status === 'new')) return found(state, 'rests for ever');
  }
  return { states: from.size, violation: undefined, path: [] };
}

function callerSteps(state: State, { callers }: World, rules: Rules): Step[] {
  return state.callers.flatMap((caller, index): Step[] => {
    if (caller.at === 'done') return [];
    const be = (next: Caller, changes: Partial<State> = {}): State => ({
      ...state,
      ...changes,
      callers: state.callers.map((one, at) => (at === index ? next : one)),
    });
    const dies: Step = [`caller ${index} dies`, be({ at: 'done' })];
    return [
      dies,
      [`caller ${index}: ${caller.at}`, callerStep(state, caller, callers[index] ?? 'terminate', rules, be)],
    ];
  });
}

function callerStep(
  state: State,
  caller: Caller,
  policy: Policy,
  rules: Rules,
  be: (next: Caller, changes?: Partial<State>) => State,
): State {
  const { run: at = 0, generation = 0, replaces } = caller;
  const run = state.runs[at];
  switch (caller.at) {
    case 'pointer':
      return be({ at: 'chain', run: state.pointer, generation: state.generation });
    case 'chain': {
      // Reads one head.
      const isContinued = run?.status === 'continued' && rules.startFollowsChain;
      if (isContinued && run.next !== undefined) return be({ ...caller, run: run.next });
      const isUnderWay = run?.status === 'running' || run?.status === 'new' || (isContinued && rules.comingCounts);
      if (!isUnderWay) return be({ at: 'create', generation });
      return policy === 'useExisting' ? be({ at: 'done' }) : be({ at: 'create', generation, replaces: at });
    }
    case 'create': {
      if (rules.generation && state.generation !== generation) return be({ at: 'pointer' });
      const created: Run = { status: 'new', ...(replaces === undefined || !rules.rests ? {} : { after: replaces }) };
      return be(replaces === undefined ? { at: 'done' } : { at: 'stop', run: replaces }, {
        pointer: state.runs.length,
        generation: state.generation + 1,
        runs: [...state.runs, created],
      });
    }
    case 'stop':
      if (run?.status === 'continued')
        return be(run.next === undefined ? { at: 'done' } : { at: 'stop', run: run.next });
      return be({ at: 'done' }, { runs: stopped(state.runs, at) });
    case 'done':
      return state;
  }
}

function stopped(runs: readonly Run[], index: number): readonly Run[] {
  return runs.map((run, at) =>
    at === index && (run.status === 'running' || run.status === 'new') ? { ...run, isStopped: true } : run,
  );
}

/** Returns the last existing run of a chain, and whether it is open. */
function lookAt(
  runs: readonly Run[],
  index: number,
  rules: Rules,
): { readonly last: number; readonly isUnderWay: boolean } {
  let last = index;
  let run = runs[last];
  if (!rules.lookFollowsChain) return { last, isUnderWay: run?.status === 'running' || run?.status === 'new' };
  while (run?.status === 'continued' && run.next !== undefined) {
    last = run.next;
    run = runs[last];
  }
  return { last, isUnderWay: run?.status !== 'ended' && (run?.status !== 'continued' || rules.comingCounts) };
}

function runSteps(state: State, world: World, rules: Rules): Step[] {
  return state.runs.flatMap((run, index): Step[] => {
    const change = (next: Run, more: readonly Run[] = []): State => ({
      ...state,
      runs: [...state.runs.map((one, at) => (at === index ? next : one)), ...more],
    });
    if (run.status === 'continued' && run.next === undefined) {
      const next = change({ ...run, next: state.runs.length }, [{ status: 'running' }]);
      return [[`run ${index} makes the next one`, next]];
    }
    if (run.status === 'new') return [[`run ${index} looks`, firstTurn(state, run, rules, change)]];
    if (run.status !== 'running') return [];
    // A request that was accepted before is seen before a run can end otherwise.
    if (run.isStopped === true) return [[`run ${index} is terminated`, change({ status: 'ended' })]];
    const steps: Step[] = [];
    if (world.finish) steps.push([`run ${index} finishes`, change({ status: 'ended' })]);
    if (state.continues < world.continues) {
      const next = { ...change({ status: 'continued' }), continues: state.continues + 1 };
      steps.push([`run ${index} goes on`, next]);
    }
    return steps;
  });
}

function firstTurn(state: State, run: Run, rules: Rules, change: (next: Run) => State): State {
  if (run.isStopped === true && !rules.terminateWaits) return change({ status: 'ended' });
  if (run.after !== undefined) {
    const { last, isUnderWay } = lookAt(state.runs, run.after, rules);
    if (isUnderWay) return rules.asksAgain ? { ...state, runs: stopped(state.runs, last) } : state;
  }
  return change({ status: run.isStopped === true ? 'ended' : 'running' });
}

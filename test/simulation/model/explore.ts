/** A protocol as a state, the steps that can be taken from it, and what must never be. States are plain JSON. */
export interface StepModel<State> {
  start(): State;
  /** Each changes the state that it is given. */
  steps(state: State): readonly ((state: State) => void)[];
  /** The sentence that is broken in `state`, if one is. `isLast`: nothing more can happen. */
  violationIn(state: State, isLast: boolean): string | undefined;
}

export interface Found {
  readonly states: number;
  /** The first sentence that was broken, if one was. */
  readonly violation: string | undefined;
}

/** Looks at every state that can be reached. @throws Error for more than `limit` */
export function explore<State>(model: StepModel<State>, name: string, limit: number): Found {
  const first = model.start();
  const seen = new Set([JSON.stringify(first)]);
  const open = [first];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const steps = model.steps(state);
    const violation = model.violationIn(state, steps.length === 0);
    if (violation !== undefined) return { states: seen.size, violation };
    for (const step of steps) {
      const next = JSON.parse(JSON.stringify(state)) as State;
      step(next);
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      open.push(next);
    }
    if (seen.size > limit) throw new Error(`${name}: more than ${limit} states`);
  }
  return { states: seen.size, violation: undefined };
}

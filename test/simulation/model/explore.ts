/**
 * A protocol as a state, the steps that can be taken from it, and the states that must never occur. States are plain
 * JSON.
 */
export interface StepModel<State> {
  start(): State;
  /** Returns steps, each of which changes the state that it is given. */
  steps(state: State): readonly ((state: State) => void)[];
  /** Returns the rule that is violated in `state`, if any. `isLast`: nothing more can happen. */
  violationIn(state: State, isLast: boolean): string | undefined;
}

export interface Found {
  readonly states: number;
  /** The first rule that was violated, if any. */
  readonly violation: string | undefined;
}

/** Visits every reachable state. @throws Error if there are more than `limit` */
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

import type { Deps } from '../deps.js';
import { inputNotFound, readInput } from '../read-input.js';
import { toInputViews, type InputView } from './input-view.js';

/** @throws EngineError `INPUT_NOT_FOUND` */
export async function showInput(deps: Deps, inputId: string): Promise<InputView> {
  const [view] = toInputViews(await readInput(deps, inputId));
  if (view === undefined) throw inputNotFound();
  return view;
}

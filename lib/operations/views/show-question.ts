import type { Deps } from '../deps.js';
import { inputNotFound, readQuestion } from '../read-question.js';
import { toInputViews, type QuestionView } from './question-view.js';

/** @throws EngineError `INPUT_NOT_FOUND` */
export async function showQuestion(deps: Deps, inputId: string): Promise<QuestionView> {
  const [view] = toInputViews(await readQuestion(deps, inputId));
  if (view === undefined) throw inputNotFound();
  return view;
}

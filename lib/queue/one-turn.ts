import { defined } from '../base/defined.js';
import type { TurnMessage } from './queue.js';

/** Merges the messages of a run that exist before a turn begins: the turn handles whatever any of them is about. */
export function oneTurnFor(messages: readonly TurnMessage[]): TurnMessage | undefined {
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const { runId } = first;
  const news = messages.map((message) => message.news);
  const unharmed = messages.flatMap((message) => message.unharmed ?? []);
  return {
    runId,
    ...defined({
      news: news.every((some) => some !== undefined) ? news.flat() : undefined,
      unharmed: unharmed.length === 0 ? undefined : unharmed,
    }),
  };
}

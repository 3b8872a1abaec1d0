import type { TurnMessage } from './queue.js';

/** One turn does for all messages of a run that are there before it begins: it is asked for what any of them is about. */
export function oneTurnFor(messages: readonly TurnMessage[]): TurnMessage | undefined {
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const { runId } = first;
  const news = messages.map((message) => message.news);
  return news.every((some) => some !== undefined) ? { runId, news: news.flat() } : { runId };
}

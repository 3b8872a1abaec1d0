import type { TurnMessage } from './queue.js';

/** One turn does for all messages of a run that are there before it begins: it is asked for what any of them is about. */
export function oneTurnFor(messages: readonly TurnMessage[]): TurnMessage | undefined {
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const { runId } = first;
  const news = messages.map((message) => message.news);
  const unharmed = messages.flatMap((message) => message.unharmed ?? []);
  return {
    runId,
    ...(news.every((some) => some !== undefined) ? { news: news.flat() } : {}),
    ...(unharmed.length === 0 ? {} : { unharmed }),
  };
}

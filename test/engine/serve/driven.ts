import { setImmediate as eventLoop } from 'node:timers/promises';
import type { TestApp } from 'outwait/testing';

/** Lets delays pass, of the store and of those who wait for others, while something is done. */
export async function driven<Result>({ clock }: TestApp, work: Promise<Result>): Promise<Result> {
  const state = { isDone: false };
  const done = work.finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) {
    await eventLoop();
    const nextAtMs = clock.nextDelayAtMs();
    if (nextAtMs !== undefined) clock.moveTo(nextAtMs);
  }
  return done;
}

import type { ServerResponse } from 'node:http';
import { vi } from 'vitest';
import { serve } from '../../unit/remote/loopback.js';

export interface Notice {
  readonly taskId: string;
  readonly what: string;
  readonly atMs: number;
}

/** What those who work on tasks say of their work. */
export interface Notices {
  readonly url: string;
  readonly list: readonly Notice[];
  /** Resolves with a notice, once it is there. */
  heard(taskId: string, what: string): Promise<Notice>;
  /** Returns whether so many equal notices of a task come in time. */
  comes(
    taskId: string,
    what: string,
    options: { readonly count: number; readonly timeoutMs: number },
  ): Promise<boolean>;
  /** Lets those who have begun to work on a task end. */
  release(taskId: string): void;
}

/** Listens for notices, each `<taskId> <what>`. One that work has begun is not answered until its task is released. */
export async function startNotices(): Promise<Notices> {
  const list: Notice[] = [];
  const held = new Map<string, ServerResponse[]>();
  const released = new Set<string>();
  const { url } = await serve(({ text }, response) => {
    const [taskId = '', ...words] = text.split(' ');
    const what = words.join(' ');
    list.push({ taskId, what, atMs: Date.now() });
    if (what === 'began' && !released.has(taskId)) held.set(taskId, [...(held.get(taskId) ?? []), response]);
    else response.writeHead(204).end();
  });
  const find = (taskId: string, what: string): readonly Notice[] =>
    list.filter((notice) => notice.taskId === taskId && notice.what === what);
  const come = (taskId: string, what: string, { count, timeoutMs }: { count: number; timeoutMs: number }) =>
    vi.waitFor(
      () => {
        const found = find(taskId, what);
        if (found.length < count) throw new Error(`${taskId} has not said "${what}" ${count} times`);
        return found[0]!;
      },
      { timeout: timeoutMs },
    );
  return {
    url,
    list,
    heard: (taskId, what) => come(taskId, what, { count: 1, timeoutMs: 20_000 }),
    comes: (taskId, what, options) =>
      come(taskId, what, options).then(
        () => true,
        () => false,
      ),
    release: (taskId) => {
      released.add(taskId);
      for (const response of held.get(taskId) ?? []) response.writeHead(204).end();
      held.delete(taskId);
    },
  };
}

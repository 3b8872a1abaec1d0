import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';

/** Memory of a process after a collection of garbage. */
export interface Memory {
  readonly residentBytes: number;
  /** Objects of JavaScript, and buffers outside of its heap. */
  readonly liveBytes: number;
}

export interface ServedProcess {
  readonly url: string;
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

/** Starts a program that serves tasks, which sends its URL. */
export async function startServed(program: string, args: readonly string[] = []): Promise<ServedProcess> {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
    execArgv: [...process.execArgv, '--expose-gc'],
  });
  const { url } = await answerOf<{ readonly url: string }>(child);
  return {
    url,
    memory: async () => {
      const answer = answerOf<Memory>(child);
      child.send('memory');
      return answer;
    },
    stop: async () => {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  const [answer] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('the process has ended');
    }),
  ])) as [Answer];
  return answer;
}

/** Runs in such a program: tells its memory when asked, and ends with its parent. */
export function answerMemory(): void {
  process.on('disconnect', () => process.exit());
  process.on('message', () => {
    void tellMemory();
  });
}

async function tellMemory(): Promise<void> {
  // What a collection frees by finalizers, the next one finds.
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await delay(50);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ residentBytes: rss, liveBytes: heapUsed + external } satisfies Memory);
}

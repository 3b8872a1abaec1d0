import { expect, it } from 'vitest';
import { OneByOne } from '../../../lib/remote/mcp/one-by-one.js';

/** Resolves when everything that can continue has continued. */
async function drained(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

function gates() {
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  const work = (name: string) => async () => {
    begun.push(name);
    await new Promise<void>((resolve) => {
      open.set(name, resolve);
    });
    return name;
  };
  return {
    begun,
    work,
    end: (name: string) => {
      open.get(name)!();
    },
  };
}

it('one by one: each begins when the one before has ended', async () => {
  const { begun, work, end } = gates();
  const queue = new OneByOne(5_000, undefined);
  const all = ['a', 'b', 'c'].map((name) => queue.run(work(name)));
  await drained();
  expect(begun).toEqual(['a']);
  end('a');
  await drained();
  expect(begun).toEqual(['a', 'b']);
  end('b');
  await drained();
  end('c');
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c']);
});

it('one by one: one that fails lets the next begin', async () => {
  const { begun, work } = gates();
  const queue = new OneByOne(5_000, undefined);
  const failed = queue.run(() => Promise.reject(new Error('no')));
  void queue.run(work('after'));
  await expect(failed).rejects.toThrow('no');
  await drained();
  expect(begun).toEqual(['after']);
});

it('one by one: one that takes longer than it may lets the next begin, and no more than that', async () => {
  const { begun, work } = gates();
  const timers: { readonly ms: number; readonly over: () => void }[] = [];
  const queue = new OneByOne(
    5_000,
    (ms, signal) =>
      new Promise((over) => {
        timers.push({ ms, over });
        const end = (): void => {
          over();
        };
        signal?.addEventListener('abort', end, { once: true });
      }),
  );
  for (const name of ['a', 'b', 'c']) void queue.run(work(name));
  await drained();
  expect([begun, timers.map(({ ms }) => ms)]).toEqual([['a'], [5_000]]);
  timers[0]!.over();
  await drained();
  expect(begun).toEqual(['a', 'b']);
});

it('one by one: no timer is left of work that has ended', async () => {
  let aborted = false;
  const queue = new OneByOne(
    5_000,
    (_ms, signal) =>
      new Promise((over) => {
        signal?.addEventListener(
          'abort',
          () => {
            aborted = true;
            over();
          },
          { once: true },
        );
      }),
  );
  await queue.run(() => Promise.resolve());
  expect(aborted).toBe(true);
});

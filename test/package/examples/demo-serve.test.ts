import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { problemsOfServed } from '../../../examples/demo/served-verdict.js';

const program = fileURLToPath(new URL('../../../examples/demo-serve.ts', import.meta.url));

const name =
  'npm run demo:serve: the caller has everything once, though the engine was killed in the midst of the stream';

// Four processes, one after the other.
it(name, { timeout: 120_000 }, async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', program, '--store', 'memory'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
  expect(output).toMatch(
    /asked: There are 3 pages[^]*100\.00[^]*killed: the engine[^]*200\.00[^]*300\.00[^]*completed/,
  );
  expect(output).toMatch(/It worked: .*\n$/);
  expect(code).toBe(0);
});

describe('the verdict of the demo of served workflows', () => {
  const good = {
    ...{ taskId: 't', state: 'completed', asked: 1, broken: 1 },
    chunks: ['2026-10-01;4711;100.00', '2026-10-02;4711;200.00', '2026-10-03;4711;300.00'],
    result: { month: '2026-10', costCentre: 4711, pages: 3 },
  };

  it('is good when everything came once, over a stream that broke', () => {
    expect(problemsOfServed(good, 4)).toEqual([]);
  });

  it.each([
    ['the task is failed', { ...good, state: 'failed' }, 4],
    ['the result is', { ...good, result: undefined }, 4],
    ['the pieces of the artifact are', { ...good, chunks: [...good.chunks, good.chunks[2]!] }, 4],
    ['the caller was asked 2 times', { ...good, asked: 2 }, 4],
    ['no stream broke', { ...good, broken: 0 }, 4],
    ['5 steps were recorded', good, 5],
  ])('says so when %s', (problem, result, steps) => {
    expect(problemsOfServed(result, steps)).toEqual([expect.stringContaining(problem)]);
  });
});

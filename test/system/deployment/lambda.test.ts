import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FunctionSpec } from './functions.js';
import { Lambda } from './lambda.js';
import { Opened } from './opened.js';
import { writeReplicaProgram } from './replica-program.js';

const code = `
import { getHeapStatistics } from 'node:v8';
export const handler = async ({ ask }, context) => {
  if (ask === 'hang') return new Promise(() => setInterval(() => undefined, 1000));
  if (ask === 'crash') process.exit(1);
  if (ask === 'throw') throw new TypeError('thrown');
  return { pid: process.pid, environment: { ...process.env }, heap: getHeapStatistics().heap_size_limit, context, left: context.getRemainingTimeInMillis() };
};`;

interface Seen {
  readonly pid: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly heap: number;
  readonly context: Readonly<Record<string, string>>;
  readonly left: number;
}

describe('a function', () => {
  const opened = new Opened();
  let spec: FunctionSpec;
  let program: string;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outwait-lambda-'));
    opened.onClose(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'index.mjs'), code);
    program = (await opened.add(writeReplicaProgram(), (part) => part.remove())).path;
    spec = {
      name: 'Function',
      functionName: 'f',
      arn: 'arn:f',
      references: ['f', 'arn:f'],
      version: '1',
      roleArn: 'arn:role',
      logGroup: 'log',
      folder,
      file: join(folder, 'index.mjs'),
      handlerName: 'handler',
      environment: { OWN: 'variable' },
      memoryMb: 256,
      timeoutMs: 60_000,
    };
  });

  afterAll(() => opened.close());

  function started(replicas: number, changes: Partial<FunctionSpec> = {}): Promise<Lambda> {
    const lambda = Lambda.start({
      functions: [{ ...spec, ...changes }],
      replicas,
      program,
      environmentOf: (_, replica) => ({ REPLICA: replica }),
      onOutput: () => undefined,
    });
    return opened.add(lambda, (part) => part.stop());
  }

  async function seenBy(lambda: Lambda): Promise<Seen> {
    const result = await lambda.invoke('f', { ask: 'what it sees' });
    if (!result.ok) throw new Error(result.error.errorMessage);
    return result.value as Seen;
  }

  it('sees its variables and those of Lambda, the memory that it has, and the time that is left', async () => {
    const seen = await seenBy(await started(1));
    expect(seen.environment).toEqual({ OWN: 'variable', REPLICA: 'Function-1' });
    // Includes some memory for young objects.
    expect(seen.heap).toBeGreaterThanOrEqual(256 * 2 ** 20);
    expect(seen.heap).toBeLessThan(320 * 2 ** 20);
    expect(seen.left).toBeGreaterThan(30_000);
    expect(seen.left).toBeLessThanOrEqual(60_000);
    expect(seen.context).toMatchObject({ functionName: 'f', functionVersion: '1', invokedFunctionArn: 'arn:f' });
  });

  it('runs in processes that take turns, each frozen in between', async () => {
    const lambda = await started(2);
    const pids = [await seenBy(lambda), await seenBy(lambda), await seenBy(lambda)].map(({ pid }) => pid);
    expect(new Set(pids).size).toBe(2);
    expect(pids[2]).toBe(pids[0]);
    await vi.waitFor(() => {
      expect(pids.map(stateOf)).toEqual(['T', 'T', 'T']);
    });
    await lambda.stop();
    expect(pids.map(stateOf)).toEqual(['', '', '']);
  });

  it.each([
    ['throws', { ask: 'throw' }, { errorType: 'TypeError', errorMessage: 'thrown' }],
    ['ends', { ask: 'crash' }, { errorType: 'Runtime.ExitError', errorMessage: 'Runtime exited' }],
    ['hangs', { ask: 'hang' }, { errorType: 'Sandbox.Timedout', errorMessage: 'Task timed out after 1 seconds' }],
  ])('that %s has failed, and serves the next invocation', async (_, event, error) => {
    const lambda = await started(1, { timeoutMs: 1_000 });
    const { pid } = await seenBy(lambda);
    expect(await lambda.invoke('f', event)).toMatchObject({ ok: false, error });
    const next = await seenBy(lambda);
    expect(next.pid === pid).toBe(error.errorType === 'TypeError');
  });

  it('is killed in the middle of an invocation, which fails', async () => {
    const lambda = await started(1);
    const { pid } = await seenBy(lambda);
    const hanging = lambda.invoke('f', { ask: 'hang' });
    await vi.waitFor(() => {
      expect(stateOf(pid)).not.toBe('T');
    });
    await lambda.kill('Function-1');
    expect(await hanging).toMatchObject({ ok: false, error: { errorType: 'Runtime.ExitError' } });
    expect((await seenBy(lambda)).environment['REPLICA']).toBe('Function-2');
    expect(lambda.servedBy('Function')).toEqual(['Function-1', 'Function-2']);
  });

  it('that cannot be loaded does not start', async () => {
    await expect(started(1, { handlerName: 'other' })).rejects.toThrow('Function-1 does not start');
  });
});

/** Returns the state of a process: `T` if it is stopped, empty if it has ended. */
function stateOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).slice(0, 1);
  } catch {
    return '';
  }
}

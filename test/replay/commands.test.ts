import { type McpCall, defineWorkflow } from 'outwait';
import { describe, expect, it } from 'vitest';
import type { TokenOutcome } from '../../lib/history/settlement.js';
import {
  asked,
  exportRequested,
  replay,
  runStarted,
  stepCompleted,
  stepFailed,
  stepRequested,
  timerFired,
  timerStarted,
  tokenSettled,
  type Run,
} from './replaying.js';

const exported: TokenOutcome = { kind: 'completed', result: { rows: 412 }, isError: false, taskId: 'task-1' };

describe('a workflow that has not started', () => {
  it('asks for nothing', async () => {
    const execution = await replay(async (ctx) => ctx.step('a', () => 1), []);
    expect(execution.status).toEqual({ kind: 'waiting' });
    expect(asked(execution)).toEqual([]);
  });
});

describe('a step', () => {
  const run: Run = async (ctx) => ctx.step('a', () => expect.unreachable('a replay runs no step'));

  it('is asked for with its policy', async () => {
    const execution = await replay(
      async (ctx) =>
        ctx.step('a', () => 1, {
          retry: { maxAttempts: 3, initialInterval: { seconds: 2 }, maxInterval: { minutes: 1 } },
          timeout: { seconds: 30 },
        }),
      [runStarted()],
    );
    expect(execution.newCommands(10)).toMatchObject([
      {
        kind: 'runStep',
        waitId: '1',
        name: 'a',
        policy: { maxAttempts: 3, initialIntervalMs: 2_000, maxIntervalMs: 60_000, timeoutMs: 30_000 },
      },
    ]);
  });

  it('has 5 attempts from 1 s to 5 min apart and 45 s each where nothing is said', async () => {
    const execution = await replay(run, [runStarted()]);
    expect(execution.newCommands(10)).toMatchObject([
      { policy: { maxAttempts: 5, initialIntervalMs: 1_000, maxIntervalMs: 300_000, timeoutMs: 45_000 } },
    ]);
  });

  it('is waited for once it is recorded, and not asked for again', async () => {
    const execution = await replay(run, [runStarted(), stepRequested('1', 'a')]);
    expect(execution.status).toEqual({ kind: 'waiting' });
    expect(asked(execution)).toEqual([]);
    expect(execution.command('1')).toMatchObject({ kind: 'runStep', name: 'a' });
  });

  it('gives the recorded result', async () => {
    const execution = await replay(run, [runStarted(), stepRequested('1', 'a'), stepCompleted('1', { total: 7 })]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: { total: 7 } } });
  });

  it('gives undefined where no result is recorded', async () => {
    const run: Run = async (ctx) => [await ctx.step('a', () => 1), 'end'];
    const execution = await replay(run, [runStarted(), stepRequested('1', 'a'), stepCompleted('1')]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: [null, 'end'] } });
  });

  it('throws the recorded failure as StepFailed with its code (S0-122)', async () => {
    const run: Run = async (ctx) => {
      const error: unknown = await ctx.step('a', () => 1).catch((thrown: unknown) => thrown);
      if (!(error instanceof Error)) return 'no error';
      const { constructor, message } = error;
      return [constructor.name, (error as { code?: string }).code ?? null, message];
    };
    for (const code of ['STEP_FAILED', 'STEP_TIMED_OUT', 'PAYLOAD_TOO_LARGE'] as const) {
      const execution = await replay(run, [
        runStarted(),
        stepRequested('1', 'a'),
        stepFailed('1', { code, message: 'no' }),
      ]);
      expect(execution.status).toMatchObject({ outcome: { result: ['StepFailed', code, 'no'] } });
    }
  });

  it('goes on waiting after a failed attempt', async () => {
    const execution = await replay(run, [
      runStarted(),
      stepRequested('1', 'a'),
      {
        type: 'StepAttemptFailed',
        atMs: 0,
        waitId: '1',
        attempt: 1,
        error: { code: 'STEP_FAILED', message: 'no' },
        retryAtMs: 9,
      },
    ]);
    expect(execution.status).toEqual({ kind: 'waiting' });
  });
});

describe('a sleep (EN-6)', () => {
  const run: Run = async (ctx) => {
    await ctx.sleep({ minutes: 1, milliseconds: 0.4 });
    return 'awake';
  };

  it('is asked for in whole milliseconds, rounded up', async () => {
    expect(asked(await replay(run, [runStarted()]))).toEqual(['1 sleep 60001']);
  });

  it('ends with its timer', async () => {
    const execution = await replay(run, [runStarted(), timerStarted('1'), timerFired('1')]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'awake' } });
  });
});

describe('a remote task', () => {
  const run: Run = async (ctx) =>
    ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: { month: '2026-10' } });
  const requested = [runStarted(), exportRequested('1')];

  it('is asked for with everything that a start needs', async () => {
    const execution = await replay(run, [runStarted()]);
    expect(execution.newCommands(10)).toEqual([
      {
        kind: 'startRemoteTask',
        waitId: '1',
        server: 'reports',
        name: 'export',
        request: { kind: 'tool', tool: 'export', arguments: { month: '2026-10' } },
        // Stored with every call, so it may not change between releases.
        digest: '5bbb5d0c6a136ec866eb090e49c6de9d4c27ac29fb4ea632efd51c3212579f40',
        input: { month: '2026-10' },
        timeoutMs: 86_400_000,
        retrySafe: false,
        onCancel: 'cancel',
        onTimeout: 'cancel',
        answersQuestions: false,
        watch: false,
      },
    ]);
  });

  it('keeps only the digest of large arguments', async () => {
    const large: Run = async (ctx) =>
      ctx.callRemoteTask({ server: 'supplier', skill: 'quote', arguments: 'x'.repeat(513), retrySafe: true });
    const [command] = (await replay(large, [runStarted()])).newCommands(10);
    expect(command).not.toHaveProperty('input');
    expect(command).toMatchObject({ name: 'quote', retrySafe: true });
  });

  it('is named "message" where the author sends parts of his own', async () => {
    const message: Run = async (ctx) =>
      ctx.callRemoteTask({ server: 'supplier', message: { parts: [{ text: 'a quote, please' }] } });
    expect(asked(await replay(message, [runStarted()]))).toEqual(['1 remote supplier/message']);
  });

  it.each([
    [{ milliseconds: 1 }, 1_000],
    [{ milliseconds: 1_200 }, 2_000],
    [{ seconds: 2 }, 2_000],
    [{ milliseconds: 0 }, 1_000],
    [{ days: 2 }, 172_800_000],
  ])('waits whole seconds, at least one: %j (S0-110)', async (timeout, timeoutMs) => {
    const execution = await replay(
      async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout }),
      [runStarted()],
    );
    expect(execution.newCommands(10)).toMatchObject([{ timeoutMs }]);
  });

  it('still waits when it has started or a start has failed (S0-53)', async () => {
    const execution = await replay(run, [
      ...requested,
      {
        type: 'RemoteTaskStartFailed',
        atMs: 0,
        waitId: '1',
        attempt: 1,
        error: { code: 'REMOTE_UNREACHABLE', message: 'no' },
        retryAtMs: 9,
      },
      {
        type: 'RemoteTaskStarted',
        atMs: 0,
        waitId: '1',
        handle: { server: 'reports', protocol: 'mcp', wire: '2026-07-28', taskId: 'task-1' },
      },
    ]);
    expect(execution.status).toEqual({ kind: 'waiting' });
  });

  it('gives its outcome (S0-50)', async () => {
    const execution = await replay(run, [...requested, tokenSettled('1')], { settlements: { 1: exported } });
    expect(execution.status).toEqual({
      kind: 'ended',
      outcome: {
        status: 'completed',
        result: { result: { rows: 412 }, isError: false, server: 'reports', taskId: 'task-1' },
      },
    });
  });

  it('names the server in every failure', async () => {
    const settlements = {
      1: { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'remote task failed: no' } },
    } as const;
    const execution = await replay(run, [...requested, tokenSettled('1')], { settlements });
    expect(execution.status).toEqual({
      kind: 'ended',
      outcome: {
        status: 'failed',
        error: { code: 'REMOTE_TASK_FAILED', message: 'remote task failed: no', details: { server: 'reports' } },
      },
    });
  });

  it('times out as RemoteTaskTimedOut (S0-54)', async () => {
    const execution = await replay(run, [...requested, tokenSettled('1')], {
      settlements: { 1: { kind: 'timed_out' } },
    });
    expect(execution.status).toEqual({
      kind: 'ended',
      outcome: {
        status: 'failed',
        error: {
          code: 'REMOTE_TASK_TIMED_OUT',
          message: 'remote task "export" on "reports" did not end within 86400 s',
          details: { server: 'reports', timeoutMs: 86_400_000 },
        },
      },
    });
  });

  it('blocks the run when the settlement that the history refers to is gone', async () => {
    const execution = await replay(run, [...requested, tokenSettled('1')]);
    expect(execution.status).toMatchObject({ kind: 'blocked', error: { code: 'HISTORY_FORMAT_UNKNOWN' } });
  });
});

describe('bad arguments', () => {
  it.each<[string, Run]>([
    ['the name of a step must be 1 to 128 characters', async (ctx) => ctx.step('', () => 1)],
    ['the name of a token must be 1 to 128 characters', async (ctx) => ctx.externalToken({ name: '' })],
    ['the name of a signal must be 1 to 128 characters', async (ctx) => ctx.signal('x'.repeat(129))],
    ['step "a" must be given a function', async (ctx) => ctx.step('a', 1 as unknown as () => number)],
    [
      'step "a": retry.maxAttempts must be a whole number of at least 1, got 0',
      async (ctx) => ctx.step('a', () => 1, { retry: { maxAttempts: 0 } }),
    ],
    [
      'step "a": timeout must be from 1 ms to 45 s (840 s with long: true), got 46 s',
      async (ctx) => ctx.step('a', () => 1, { timeout: { seconds: 46 } }),
    ],
    [
      'the duration of a sleep must be a duration such as { minutes: 5 }, got the unit "weeks"',
      async (ctx) => ctx.sleep({ weeks: 1 } as object),
    ],
    [
      'the duration of a sleep must be a duration such as { minutes: 5 }, got the unit "toString"',
      async (ctx) => ctx.sleep({ toString: 1 } as unknown as object),
    ],
    [
      'callRemoteTask needs exactly one of tool, skill and message, got 2',
      async (ctx) => ctx.callRemoteTask({ server: 's', tool: 'a', skill: 'b' } as unknown as McpCall),
    ],
    [
      'the name of a server must be a string of 1 to 256 characters',
      async (ctx) => ctx.callRemoteTask({ server: '', tool: 'a' }),
    ],
    [
      'message.parts must be a list of at least one part',
      async (ctx) => ctx.callRemoteTask({ server: 's', message: { parts: [] } }),
    ],
  ])('reject the call before there is a command: %s', async (message, run) => {
    const execution = await replay(run, [runStarted()]);
    expect(execution.status).toMatchObject({
      kind: 'ended',
      outcome: { status: 'failed', error: { code: 'INPUT_INVALID', message } },
    });
    expect(asked(execution)).toEqual([]);
  });

  it('of more than 2 MiB fail the call and name size and limit', async () => {
    const run: Run = async (ctx) =>
      ctx.callRemoteTask({ server: 's', tool: 't', arguments: { text: 'x'.repeat(2_097_152) } });
    expect((await replay(run, [runStarted()])).status).toMatchObject({
      outcome: { error: { code: 'PAYLOAD_TOO_LARGE', details: { sizeBytes: 2_097_202, limitBytes: 2_097_152 } } },
    });
  });

  it('of a child of more than 2 MiB fail the call and name size and limit', async () => {
    const child = defineWorkflow({ name: 'child', version: '1', run: async () => undefined });
    const run: Run = async (ctx) => ctx.child(child, 'x'.repeat(2_097_152));
    const execution = await replay(run, [runStarted()]);
    expect(execution.status).toMatchObject({
      outcome: { error: { code: 'PAYLOAD_TOO_LARGE', details: { sizeBytes: 2_097_154, limitBytes: 2_097_152 } } },
    });
    expect(asked(execution)).toEqual([]);
  });
});

describe('the result of a workflow', () => {
  it('is its JSON form', async () => {
    const execution = await replay(async () => ({ at: new Date(0), gone: undefined }), [runStarted()]);
    expect(execution.status).toEqual({
      kind: 'ended',
      outcome: { status: 'completed', result: { at: '1970-01-01T00:00:00.000Z' } },
    });
  });

  it('may be missing', async () => {
    expect((await replay(async () => undefined, [runStarted()])).status).toEqual({
      kind: 'ended',
      outcome: { status: 'completed' },
    });
  });

  it('fails the run when JSON cannot hold it', async () => {
    const execution = await replay(async () => 1n, [runStarted()]);
    expect(execution.status).toMatchObject({
      kind: 'ended',
      outcome: { status: 'failed', error: { code: 'WORKFLOW_FAILED' } },
    });
  });

  it('fails the run when it is over 2 MiB, and names size and limit', async () => {
    const execution = await replay(async () => 'x'.repeat(2_097_152), [runStarted()]);
    expect(execution.status).toMatchObject({
      outcome: {
        status: 'failed',
        error: {
          code: 'PAYLOAD_TOO_LARGE',
          message: 'the result of the workflow is 2097154 bytes of JSON, the limit is 2097152',
        },
      },
    });
  });

  it('is not changed by what comes after the end', async () => {
    const run: Run = async (ctx) => Promise.race([ctx.step('a', () => 1), ctx.step('b', () => 2)]);
    const execution = await replay(run, [
      runStarted(),
      stepRequested('1', 'a'),
      stepRequested('2', 'b'),
      stepCompleted('2', 'first'),
      stepCompleted('1', 'second'),
    ]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'first' } });
  });
});

describe('what a workflow throws', () => {
  it('fails the run with the class and the message of the error', async () => {
    const run: Run = async () => {
      throw new RangeError('month 13');
    };
    expect((await replay(run, [runStarted()])).status).toEqual({
      kind: 'ended',
      outcome: { status: 'failed', error: { code: 'WORKFLOW_FAILED', message: 'month 13', name: 'RangeError' } },
    });
  });

  it('fails the run, also before its first wait and if it is not an Error', async () => {
    const run: Run = () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- authors do
      throw 'text';
    };
    expect((await replay(run, [runStarted()])).status).toMatchObject({
      outcome: { status: 'failed', error: { message: 'text' } },
    });
  });
});

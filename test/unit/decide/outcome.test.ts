import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../lib/decide/outcome.js';

describe('the end of a remote task (S0-95)', () => {
  it('is its outcome up to 2 MiB of JSON', () => {
    const end = { kind: 'completed', result: 'x'.repeat(2_097_150), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports', 'run')).toEqual(end);
  });

  it('is a failure beyond that, which names size and limit', () => {
    const end = { kind: 'completed', result: 'x'.repeat(2_097_151), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports', 'run')).toEqual({
      kind: 'failed',
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'the result of the remote task on "reports" is 2097153 bytes of JSON, the limit is 2097152',
        details: { server: 'reports', sizeBytes: 2_097_153, limitBytes: 2_097_152, taskId: 'task-1' },
      },
    });
  });

  it('counts bytes of UTF-8', () => {
    expect(
      outcomeOf({ kind: 'completed', result: 'é'.repeat(1_048_576), isError: false }, 'reports', 'run'),
    ).toMatchObject({
      error: { details: { sizeBytes: 2_097_154 } },
    });
  });

  it('is the failure of the server where there is one', () => {
    const end = { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'no' } } as const;
    expect(outcomeOf(end, 'reports', 'run')).toEqual({
      kind: 'failed',
      error: { code: 'REMOTE_TASK_FAILED', message: 'no', details: { server: 'reports', phase: 'run' } },
    });
  });

  it('keeps 4 KiB of the failure text, and what the server told with it', () => {
    const error = {
      code: 'REMOTE_TASK_FAILED',
      message: 'é'.repeat(4_096),
      details: { server: 'other', state: 'failed' },
    } as const;
    const outcome = outcomeOf({ kind: 'failed', error }, 'reports', 'run');
    expect(outcome).toEqual({
      kind: 'failed',
      error: {
        code: 'REMOTE_TASK_FAILED',
        message: 'é'.repeat(2_048),
        details: { server: 'other', phase: 'run', state: 'failed' },
      },
    });
  });

  it('says that an error of the tool came in the reply to the start, where it did (GB-16)', () => {
    const end = { kind: 'completed', result: 'no quota', isError: true } as const;
    expect(outcomeOf(end, 'reports', 'start')).toEqual({ ...end, phase: 'start' });
    expect(outcomeOf(end, 'reports', 'run')).toEqual(end);
    expect(outcomeOf({ ...end, isError: false }, 'reports', 'start')).toEqual({ ...end, isError: false });
  });
});

import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../lib/decide/outcome.js';

describe('the end of a remote task (S0-95)', () => {
  it('is its outcome up to 2 MiB of JSON', () => {
    const end = { kind: 'completed', result: 'x'.repeat(2_097_150), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports')).toEqual(end);
  });

  it('is a failure beyond that, which names size and limit', () => {
    const end = { kind: 'completed', result: 'x'.repeat(2_097_151), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports')).toEqual({
      kind: 'failed',
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'the result of the remote task on "reports" is 2097153 bytes of JSON, the limit is 2097152',
        details: { server: 'reports', sizeBytes: 2_097_153, limitBytes: 2_097_152, taskId: 'task-1' },
      },
    });
  });

  it('counts bytes of UTF-8', () => {
    expect(outcomeOf({ kind: 'completed', result: 'é'.repeat(1_048_576), isError: false }, 'reports')).toMatchObject({
      error: { details: { sizeBytes: 2_097_154 } },
    });
  });

  it('is the failure of the server where there is one', () => {
    const end = { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'no' } } as const;
    expect(outcomeOf(end, 'reports')).toEqual(end);
  });
});

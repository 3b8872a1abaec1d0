import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../lib/decide/outcome.js';

describe('the end of a remote task (S0-95)', () => {
  it('is its outcome up to 300 KiB of JSON', () => {
    const end = { kind: 'completed', result: 'x'.repeat(307_198), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports')).toEqual(end);
  });

  it('is a failure beyond that, which names size and limit', () => {
    const end = { kind: 'completed', result: 'x'.repeat(307_199), isError: false, taskId: 'task-1' } as const;
    expect(outcomeOf(end, 'reports')).toEqual({
      kind: 'failed',
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'the result of the remote task on "reports" is 307201 bytes of JSON, the limit is 307200',
        details: { server: 'reports', sizeBytes: 307_201, limitBytes: 307_200, taskId: 'task-1' },
      },
    });
  });

  it('counts bytes of UTF-8', () => {
    expect(outcomeOf({ kind: 'completed', result: 'é'.repeat(153_600), isError: false }, 'reports')).toMatchObject({
      error: { details: { sizeBytes: 307_202 } },
    });
  });

  it('is the failure of the server where there is one', () => {
    const end = { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'no' } } as const;
    expect(outcomeOf(end, 'reports')).toEqual(end);
  });
});

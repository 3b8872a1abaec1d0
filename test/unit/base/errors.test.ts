import { describe, expect, it, vi } from 'vitest';
import {
  EngineError,
  engineErrorCodes,
  fromStoredError,
  hasCode,
  isEngineError,
  NonRetryableError,
  RemoteTaskError,
  RemoteTaskFailed,
  storedError,
  toStoredError,
} from '../../../lib/base/errors.js';

describe('an error that crosses storage', () => {
  it.each([
    ['STEP_FAILED', 'StepFailed'],
    ['STEP_TIMED_OUT', 'StepFailed'],
    ['RUN_CANCELLED', 'RunCancelled'],
    ['REMOTE_TASK_FAILED', 'RemoteTaskFailed'],
    ['REMOTE_TASK_REJECTED', 'RemoteTaskRejected'],
    ['REMOTE_TASK_CANCELLED', 'RemoteTaskCancelled'],
    ['REMOTE_TASK_TIMED_OUT', 'RemoteTaskTimedOut'],
    ['REMOTE_START_REFUSED', 'RemoteStartRefused'],
    ['REMOTE_START_AMBIGUOUS', 'RemoteStartAmbiguous'],
    ['REMOTE_START_FAILED', 'RemoteStartFailed'],
    ['SERVER_NOT_FOUND', 'EngineError'],
  ] as const)('comes back from %s as %s', (code, name) => {
    const error = fromStoredError({ code, message: 'no', details: { server: 'reports' } });
    expect(error).toBeInstanceOf(EngineError);
    expect({ name: error.name, code: error.code, message: error.message, details: error.details }).toEqual({
      name,
      code,
      message: 'no',
      details: { server: 'reports' },
    });
  });

  it('is the same again after two trips', () => {
    for (const code of engineErrorCodes) {
      const stored = storedError(code, 'no', { attempts: 5 });
      expect(toStoredError(fromStoredError(stored), 'INTERNAL')).toEqual(stored);
    }
  });

  it('is a RemoteTaskError for every end of a remote task without an outcome', () => {
    expect(fromStoredError({ code: 'REMOTE_START_FAILED', message: 'no' })).toBeInstanceOf(RemoteTaskError);
    expect(fromStoredError({ code: 'REMOTE_TASK_FAILED', message: 'no' })).toBeInstanceOf(RemoteTaskFailed);
  });

  it('keeps at most 4 KiB of text, cut between characters (S0-96)', () => {
    expect(storedError('STEP_FAILED', 'é'.repeat(4_096)).message).toBe('é'.repeat(2_048));
    expect(toStoredError(new Error(`a${'é'.repeat(4_096)}`), 'STEP_FAILED').message).toBe(`a${'é'.repeat(2_047)}`);
  });

  it('gives a foreign error the fallback code and keeps the name of its class', () => {
    expect(toStoredError(new TypeError('no'), 'WORKFLOW_FAILED')).toEqual({
      code: 'WORKFLOW_FAILED',
      message: 'no',
      name: 'TypeError',
    });
    expect(toStoredError('text', 'WORKFLOW_FAILED')).toEqual({ code: 'WORKFLOW_FAILED', message: 'text' });
    expect(toStoredError(undefined, 'WORKFLOW_FAILED')).toEqual({
      code: 'WORKFLOW_FAILED',
      message: 'a undefined was thrown',
    });
  });
});

it('errors are told by their code, whichever copy of the package threw them', async () => {
  vi.resetModules();
  const copy = await import('../../../lib/base/errors.js');
  const foreign = new copy.EngineError('RUN_NOT_FOUND', 'no');
  expect(foreign).not.toBeInstanceOf(EngineError);
  expect(isEngineError(foreign)).toBe(true);
  expect(hasCode(foreign, 'RUN_NOT_FOUND')).toBe(true);
  expect(hasCode(foreign, 'INTERNAL')).toBe(false);
});

it.each([
  Object.assign(new Error('no'), { code: 'ENOENT' }),
  Object.assign(new Error('no'), { code: 'UNAUTHORIZED' }),
  { code: 'RUN_NOT_FOUND' },
  undefined,
])('an error of another library is not one of ours, whatever its code: %o', (thrown) => {
  expect(isEngineError(thrown)).toBe(false);
  expect(hasCode(thrown, 'UNAUTHORIZED')).toBe(false);
});

it('a NonRetryableError keeps its cause', () => {
  const cause = new Error('401');
  expect(new NonRetryableError('no access', { cause })).toMatchObject({
    name: 'NonRetryableError',
    nonRetryable: true,
    cause,
  });
});

it('codes are unique', () => {
  expect(new Set(engineErrorCodes).size).toBe(engineErrorCodes.length);
});

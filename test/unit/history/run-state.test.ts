import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../../lib/history/event.js';
import { foldHistory, type RunState } from '../../../lib/history/run-state.js';

const error = { code: 'REMOTE_UNREACHABLE', message: 'no' } as const;
const handle = { server: 's', protocol: 'mcp', wire: '2026-07-28', taskId: 'x' } as const;
const started: HistoryEvent = { type: 'RunStarted', atMs: 5, workflow: 'flow', version: '1', behaviors: 1 };
const stepRequested: HistoryEvent = { type: 'StepRequested', atMs: 6, waitId: '1', name: 'a' };
const timerStarted: HistoryEvent = { type: 'TimerStarted', atMs: 6, waitId: '2', firesAtMs: 60 };
const remoteRequested: HistoryEvent = {
  type: 'RemoteTaskRequested',
  atMs: 6,
  waitId: '3',
  server: 's',
  name: 't',
  digest: 'd',
  deadlineAtMs: 99,
};

function after(...events: readonly HistoryEvent[]): RunState {
  return foldHistory([{ seq: 1, events }]);
}

describe('the state of a run', () => {
  it('is empty before the first commit', () => {
    const state = foldHistory([]);
    expect({ seq: state.seq, open: [...state.open] }).toEqual({
      seq: 0,
      open: [],
    });
  });

  it('has the number of the last commit, and the times of the first and the last event', () => {
    const state = foldHistory([
      { seq: 1, events: [started] },
      { seq: 2, events: [{ ...stepRequested, atMs: 8 }] },
    ]);
    expect({ seq: state.seq, lastEventAtMs: state.lastEventAtMs }).toEqual({
      seq: 2,
      lastEventAtMs: 8,
    });
  });

  it('has a wait open from its request on', () => {
    expect([...after(started, stepRequested, timerStarted, remoteRequested).open.values()]).toEqual([
      { kind: 'step', waitId: '1', name: 'a', requestedAtMs: 6, failedAttempts: 0, interrupted: 0, begun: 0 },
      { kind: 'timer', waitId: '2', name: 'sleep', requestedAtMs: 6, firesAtMs: 60 },
      {
        kind: 'remoteTask',
        waitId: '3',
        server: 's',
        name: 't',
        requestedAtMs: 6,
        deadlineAtMs: 99,
        failedAttempts: 0,
        watch: false,
        rounds: 0,
        asked: new Map(),
        answers: new Map(),
      },
    ]);
  });

  it.each<[string, HistoryEvent]>([
    ['1', { type: 'StepCompleted', atMs: 7, waitId: '1', attempt: 1 }],
    ['1', { type: 'StepFailed', atMs: 7, waitId: '1', attempt: 5, error }],
    ['2', { type: 'TimerFired', atMs: 60, waitId: '2' }],
    ['3', { type: 'TokenSettled', atMs: 7, waitId: '3' }],
  ])('closes wait %s with the event that ends it', (waitId, end) => {
    const state = after(started, stepRequested, timerStarted, remoteRequested, end);
    expect(state.open.has(waitId)).toBe(false);
    expect(state.open.size).toBe(2);
  });

  it('counts failed attempts and knows when the next is due', () => {
    const state = after(
      stepRequested,
      remoteRequested,
      { type: 'StepAttemptFailed', atMs: 7, waitId: '1', attempt: 2, error, retryAtMs: 9 },
      { type: 'RemoteTaskStartFailed', atMs: 7, waitId: '3', attempt: 1, error, retryAtMs: 8 },
    );
    expect(state.open.get('1')).toMatchObject({ failedAttempts: 2, retryAtMs: 9, lastError: error });
    expect(state.open.get('3')).toMatchObject({ failedAttempts: 1, retryAtMs: 8, lastError: error });
    expect(state.openTokens.get('3')).toBe(state.open.get('3'));
  });

  it('takes the handle of a remote task in, and its settlement once', () => {
    const running = after(remoteRequested, { type: 'RemoteTaskStarted', atMs: 7, waitId: '3', handle });
    expect(running.openTokens.get('3')).toMatchObject({ handle });
    running.applyCommit(2, [{ type: 'TokenSettled', atMs: 8, waitId: '3' }]);
    expect(running.openTokens.size).toBe(0);
    expect([...running.settled]).toEqual(['3']);
  });

  it('looks for no task any more once the server has asked before it makes one', () => {
    const lost = {
      type: 'RemoteTaskStartLost',
      atMs: 7,
      waitId: '3',
      attempt: 1,
      error,
      look: 1,
      lookAtMs: 9,
    } as const;
    const asked = { type: 'RemoteTaskStartAsked', atMs: 8, waitId: '3', attempt: 1, round: 1 } as const;
    const wait = after(remoteRequested, lost, asked).open.get('3');
    expect(wait).toMatchObject({ failedAttempts: 1, rounds: 1 });
    expect(wait).toHaveProperty('look', undefined);
    expect(wait).not.toHaveProperty('retryAtMs');
  });

  it('ignores what comes for a wait that is closed or was never asked for', () => {
    const state = after(
      { type: 'StepAttemptFailed', atMs: 7, waitId: '1', attempt: 1, error, retryAtMs: 9 },
      { type: 'RemoteTaskStarted', atMs: 7, waitId: '3', handle },
      { type: 'RemoteTaskStartFailed', atMs: 7, waitId: '3', attempt: 1, error, retryAtMs: 9 },
      { type: 'TimerFired', atMs: 7, waitId: '2' },
    );
    expect(state.open.size).toBe(0);
    expect(state.openTokens.size).toBe(0);
  });

  it('remembers what it took from the inbox, and how the run ends', () => {
    const state = after(
      { type: 'CancelRequested', atMs: 7, inboxId: 'cancel-1' },
      { type: 'TerminateRequested', atMs: 7, inboxId: 'terminate-1' },
      { type: 'RunEnding', atMs: 8, outcome: { status: 'cancelled' } },
    );
    expect([...state.takenInbox]).toEqual(['cancel-1', 'terminate-1']);
    expect(state.ending).toEqual({ status: 'cancelled' });
    expect(state.ended).toBe(false);
    state.applyCommit(2, [{ type: 'RunEnded', atMs: 9, status: 'cancelled' }]);
    expect(state.ended).toBe(true);
  });
});

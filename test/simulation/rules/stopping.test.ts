import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import type { TokenOutcome } from '../../../lib/history/settlement.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { stopRemote } from '../../../lib/operations/remote-task/stop-remote.js';
import type { CancelReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// The fate of the remote task of a wait that ended before it.

const runId = '00'.repeat(16);
const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't1' } as const;
const dayMs = 24 * 3_600_000;
const trouble = { code: 'REMOTE_UNREACHABLE', message: 'busy' } as const;

/** Returns the token of a wait that ended that long ago, in that way. */
function tokenOf(kind: TokenOutcome['kind'], more: Partial<TokenRecord> = {}, agoMs = 1_000): TokenRecord {
  return {
    ...{ runId, waitId: '1', server: 'reports', attempt: 1, writerId: 'w', createdAtMs: 1, pollErrors: 0, handle },
    settlement: { writerId: 's', atMs: startMs - agoMs, by: 'end', outcome: { kind } as TokenOutcome },
    ...more,
  };
}

/** Returns the result, and how many cancels were sent to the server. */
async function stop(token: TokenRecord, reply: CancelReply = { kind: 'done' }) {
  let cancels = 0;
  const cancel = async (): Promise<CancelReply> => {
    cancels++;
    return reply;
  };
  const deps: Deps = {
    ...createTestApp(anApp(aFlow(async () => undefined))).deps,
    transports: { get: () => ({ cancel }) as unknown as RemoteTaskTransport },
  };
  return { stopped: await stopRemote(deps, token, { remainingMs: () => 60_000 }), cancels };
}
const sent = { stopped: { cancel: { kind: 'sent', atMs: startMs } }, cancels: 1 };
const orphaned = { stopped: { orphanedAtMs: startMs }, cancels: 0 };

test('policy of the call: what is left at a timeout is left then only, and what is left at a cancel then only', async () => {
  expect(await stop(tokenOf('timed_out'))).toEqual(sent);
  expect(await stop(tokenOf('abandoned'))).toEqual(sent);
  expect(await stop(tokenOf('timed_out', { onTimeout: 'leave' }))).toEqual(orphaned);
  expect(await stop(tokenOf('abandoned', { onTimeout: 'leave' }))).toEqual(sent);
  expect(await stop(tokenOf('timed_out', { onCancel: 'leave' }))).toEqual(sent);
  expect(await stop(tokenOf('run_ended', { onCancel: 'leave' }))).toEqual(orphaned);
});

test('nothing to stop: a wait that has no server, or has not ended, or whose task nobody knows and its call leaves', async () => {
  const nothing = { stopped: {}, cancels: 0 };
  const { server: _, ...child } = tokenOf('abandoned');
  expect(await stop(child)).toEqual(nothing);
  const { settlement: __, ...open } = tokenOf('abandoned');
  expect(await stop(open)).toEqual(nothing);
  const { handle: ___, ...unknown } = tokenOf('abandoned', { onCancel: 'leave' });
  expect(await stop(unknown)).toEqual(nothing);
});

test('server that is gone from the configuration: its task is an orphan, and nobody is asked', async () => {
  expect(await stop(tokenOf('abandoned', { server: 'gone' }))).toEqual(orphaned);
});

test('cancel that is refused: the task is an orphan at once', async () => {
  expect(await stop(tokenOf('abandoned'), { kind: 'refused', error: trouble })).toEqual({
    stopped: { cancel: { kind: 'refused', atMs: startMs }, orphanedAtMs: startMs },
    cancels: 1,
  });
});

test('cancel that gets no answer: it is asked for again for a day, then the task is an orphan', async () => {
  const unanswered = { kind: 'retry', error: trouble } as const;
  expect(await stop(tokenOf('abandoned', {}, dayMs), unanswered)).toEqual({ stopped: 'later', cancels: 1 });
  expect(await stop(tokenOf('abandoned', {}, dayMs + 1), unanswered)).toEqual({
    stopped: { cancel: { kind: 'gaveUp', atMs: startMs }, orphanedAtMs: startMs },
    cancels: 1,
  });
});

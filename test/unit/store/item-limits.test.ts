import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { roles } from '../../../lib/base/caller.js';
import type { StoredError } from '../../../lib/base/errors.js';
import type { JsonValue } from '../../../lib/base/json.js';
import { chunkBytes, dueShardsMax, questionMaxBytes, payloadMaxBytes, questionsMax } from '../../../lib/base/limits.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { RemoteQuestion } from '../../../lib/history/remote-question.js';
import { createCipher, type PayloadCipher } from '../../../lib/store/cipher.js';
import { itemKindOf, type ItemKind, itemLimits, type Room } from '../../../lib/store/items/limits.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { namedKeyring } from '../../../lib/store/payload-keyring.js';
import type { InboxRecord, RunHead, Settlement, TokenRecord } from '../../../lib/history/records.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import type { Item, Table } from '../../../lib/store/table.js';
import { itemBytes, itemMaxBytes } from '../../../lib/store/write-rules.js';
import { depthMax } from '../../../lib/workflow/serve.js';
import { openDynamoDbTable, type OpenedTable } from '../../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../../support/dynoxide.js';
import { storeProxy } from '../../support/store-proxy.js';
import { trailMaxBytes } from '../../../lib/decide/task-trail.js';
import { signalMaxBytes } from '../../../lib/operations/requests/signal-run.js';
import { stepProgressMaxBytes } from '../../../lib/operations/steps/run-step.js';

const limits: Readonly<Record<ItemKind, Readonly<Record<string, Room>>>> = itemLimits;
/** Bytes of the two parts of a key: run ids and wait ids are shorter, and ids of requests are the longest. */
const keyBytes = 2 * 2 + 40 + 1_024;
const numberBytes = 21;

/**
 * Returns the maximum size of the attributes of a kind, including their names, without the payloads that are left out.
 */
function mostBytes(kind: ItemKind, leftOut: readonly string[] = []): number {
  return Object.entries(limits[kind])
    .filter(([name]) => !leftOut.includes(name))
    .reduce((sum, [name, room]) => sum + name.length + roomBytes(room), keyBytes);
}

function roomBytes(room: Room): number {
  if (room === 'number') return numberBytes;
  return 'maxBytes' in room ? room.maxBytes : room.inlineBytes;
}

const payloadsIn = (kind: ItemKind): readonly string[] =>
  Object.entries(limits[kind]).flatMap(([name, room]) =>
    typeof room === 'object' && 'inlineBytes' in room ? [name] : [],
  );

describe('F01 the room of attributes', () => {
  it.each(Object.keys(limits) as ItemKind[])('all together fit into an item, and a quarter beside: %s', (kind) => {
    expect(mostBytes(kind)).toBeLessThan(itemMaxBytes - 32 * 1_024);
  });

  // Earlier versions allowed each payload 300 KiB. A later write may add these attributes to such an item:
  it.each<[ItemKind, old: string, added: readonly string[]]>([
    ['head', 'input', ['blocked']],
    ['token', 'questions', ['handle', 'outcome']],
    ['token', 'outcome', ['handle']],
    ['token', 'form', ['outcome']],
    ['token', 'stepProgress', ['stepError', 'outcome']],
    ['token', 'stepError', ['stepProgress', 'outcome']],
  ])('of a %s lets an old %s stand beside %j', (kind, old, added) => {
    const others = payloadsIn(kind).filter((name) => !added.includes(name));
    expect(mostBytes(kind, others) + old.length + chunkBytes).toBeLessThan(itemMaxBytes);
  });
});

test('F01 room: each write is checked against it: a text without room and an attribute that was not counted are refused', async () => {
  const table = new SealedTable(new MemoryTable());
  const key = { pk: 'run#1', sk: 't#1' };
  const update = (set: Record<string, string | number>) => table.write({ kind: 'update', key, set, conditions: [] });
  await expect(update({ server: 'x'.repeat(65) })).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    message: '"server" of a token may hold at most 64 bytes, got 65',
  });
  await expect(update({ note: 'x' })).rejects.toMatchObject({ code: 'INTERNAL' });
  await expect(update({ attempt: '1' })).rejects.toMatchObject({ code: 'INTERNAL' });
  await expect(table.write({ kind: 'update', key, increment: { notes: 1 }, conditions: [] })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
  await expect(table.write({ kind: 'put', item: { pk: 'x', sk: 'y' }, conditions: [] })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
});

describe('F01 the memory table refuses what DynamoDB refuses', () => {
  it.each([
    ['a partition of a key', { pk: 'p'.repeat(2_049), sk: 's' }],
    ['the sort part of a key', { pk: 'p', sk: 's'.repeat(1_025) }],
    ['the sort part of the key of an index', { pk: 'p', sk: 's', listPartition: 'l', listSort: 's'.repeat(1_025) }],
    ['a number', { pk: 'p', sk: 's', n: 1e126 }],
    ['a small number', { pk: 'p', sk: 's', n: 1e-131 }],
  ])('%s', async (_, item) => {
    await expect(new MemoryTable().write({ kind: 'put', item, conditions: [] })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
  });
});

// ----- every write of the store, with as much as each limit allows -----

const runId = 'f'.repeat(32);
const waitId = '999999999';
const writerId = `${'e'.repeat(32)}/${waitId}/99`;
const wide = (chars: number): string => '€'.repeat(chars);
const atMs = 1_795_000_000_000.5;

/** Printable, and so random that compression does not make it shorter. */
const noise = Buffer.from(randomBytes(payloadMaxBytes).map((byte) => 35 + (byte % 57))).toString('latin1');

/** Returns a text for a payload for which validation allows that many bytes. */
type Filling = (name: string, limitBytes: number) => string;

/** Leaves room for names, the other fields of the payload's object, and what sealing adds. */
const inline =
  (isEncrypted: boolean): Filling =>
  (name, limitBytes) => {
    const inlineBytes = inlineBytesOf.get(name) ?? 0;
    return noise.slice(0, Math.min(limitBytes, (isEncrypted ? (inlineBytes * 3) / 4 : inlineBytes) - 500));
  };

const inlineBytesOf = new Map(
  Object.values(limits)
    .flatMap((ofKind) => Object.entries(ofKind))
    .flatMap(([name, room]) => (typeof room === 'object' && 'inlineBytes' in room ? [[name, room.inlineBytes]] : [])),
);

const cipher = createCipher(namedKeyring([{ keyId: 'k'.repeat(32), secret: new Uint8Array(32) }]));

test('F01 every write: payloads as large as validation lets them be, encrypted, make items that the table takes', async () => {
  await everyWrite(new MemoryTable(), cipher, (_, limitBytes) => noise.slice(0, limitBytes));
});

test('F01 every write: payloads as large as fits without chunks make items that the table takes', async () => {
  await everyWrite(new MemoryTable(), undefined, inline(false));
});

test('F01 every write: payloads as large as fits without chunks, encrypted, make items that the table takes', async () => {
  await everyWrite(new MemoryTable(), cipher, inline(true));
});

describe('F01 every write makes items that the table takes, with payloads', () => {
  describeWithDynoxide('as large as fits without chunks, on dynoxide', () => {
    let dynoxide: Dynoxide;
    let opened: OpenedTable;
    beforeAll(async () => {
      dynoxide = await startDynoxide();
      opened = await openDynamoDbTable(dynoxide.endpoint, 'limits');
    });
    afterAll(async () => {
      opened.client.destroy();
      await dynoxide.stop();
    });

    it('encrypted', async () => {
      await everyWrite(opened.table, cipher, inline(true));
    });
  });
});

async function everyWrite(table: Table, ofKey: PayloadCipher | undefined, filling: Filling): Promise<void> {
  const seen = new Map<ItemKind, Set<string>>();
  const called = new Set<string>();
  let largest = 0;
  const look = async (written: Item | undefined): Promise<void> => {
    if (written === undefined || written.pk.startsWith('blob#')) return;
    const item = await table.get(written);
    if (item === undefined) return;
    largest = Math.max(largest, itemBytes(item));
    const kind = itemKindOf(item);
    const names = seen.get(kind) ?? new Set<string>();
    for (const name of Object.keys(item)) names.add(name);
    seen.set(kind, names);
  };
  const watched: Table = {
    write: async (write) => {
      const result = await table.write(write);
      await look(write.kind === 'put' ? write.item : { ...write.key });
      return result;
    },
    transact: async (writes) => {
      const result = await table.transact(writes);
      for (const write of writes) await look(write.kind === 'put' ? write.item : { ...write.key });
      return result;
    },
    get: (key) => table.get(key),
    queryPartition: (...given) => table.queryPartition(...given),
    queryIndex: (query) => table.queryIndex(query),
  };
  const plain = new RunStore(new SealedTable(watched, ofKey), { dueShards: dueShardsMax });
  const store = storeProxy(plain, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      called.add(name);
      return (...given: unknown[]) => (value as (...all: unknown[]) => unknown).apply(target, given);
    },
  });

  const error = (name: 'blocked' | 'stepError' | 'startHeld' | 'startCame', limitBytes: number): StoredError => ({
    code: 'STEP_FAILED',
    message: filling(name, limitBytes),
  });
  const tags = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [`${n}${'\u0001'.repeat(63)}`, '\u0001'.repeat(256)]),
  );
  const owner = `${wide(42)}aa`;
  const tenant = 't'.repeat(64);
  const head = (id: string): RunHead => ({
    runId: id,
    workflow: 'w'.repeat(64),
    version: wide(64),
    status: 'running',
    input: filling('input', payloadMaxBytes),
    seed: 'd'.repeat(32),
    createdAtMs: atMs,
    id: wide(85),
    key: wide(85),
    deadlineAtMs: atMs,
    startAtMs: atMs,
    parent: { runId, waitId, workflow: 'w'.repeat(64) },
    previousRunId: runId,
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    afterRunId: runId,
    sentDigest: 'd'.repeat(64),
    lane: { key: wide(85), afterRunId: runId, afterCreatedAtMs: atMs, replaces: true, nextRunId: runId },
    debounce: { untilMs: atMs, startId: 'd'.repeat(32) },
    inputError: { code: 'INPUT_INVALID', message: wide(1000) },
    tags,
    owner,
    tenant,
    counted: true,
    counters: [`caller ${'d'.repeat(32)}`, `skill ${'w'.repeat(64)}`],
    calls: Array.from({ length: depthMax }, () => 'm'.repeat(32)),
    callback: { url: filling('callback', 4 * 1_024), secret: 'whsec_' },
    task: {
      ...(id === runId ? {} : { firstRunId: runId }),
      contextId: filling('task', 16 * 1_024),
      message: { messageId: 'm' },
      generation: 1,
    },
    taskHint: { state: 'input-required', atMs },
    inboxCount: 0,
    dueSeq: 0,
    blocks: 0,
    publishedSeq: 0,
    dueAtMs: atMs,
  });
  const signal = (id: string, key: string): InboxRecord => ({
    runId: id,
    inboxId: `signal-128-${wide(128)}-${wide(127)}${key}`,
    kind: 'signal',
    name: wide(128),
    payload: filling('payload', signalMaxBytes),
    atMs,
    order: Number.MAX_SAFE_INTEGER,
    by: owner,
    dueAtMs: atMs,
  });

  // Heads, ids, inbox.
  expect((await store.heads.create(head(runId), writerId)).created).toBe(true);
  const caps = (['live', 'turns'] as const).map((of) => ({ counter: `caller ${'d'.repeat(32)}`, of, max: 1 }));
  const withSignal = { signal: signal('1'.repeat(32), '1'), liveMax: 1, caps };
  expect(await store.heads.createWith(head('1'.repeat(32)), writerId, withSignal)).toMatchObject({ created: true });
  const name = { nameKey: 'a'.repeat(64), generation: 0 };
  expect(await store.names.createRun(head('2'.repeat(32)), writerId, name)).toBe('created');
  const [limitedId, laterId] = ['3'.repeat(32), '4'.repeat(32)];
  const place = {
    pointers: (['lane', 'debounce'] as const).map((kind) => ({ kind, digest: 'b'.repeat(64), generation: 0 })),
    signal: signal(limitedId, '1'),
    throttle: { key: 'b'.repeat(64), state: { startsAtMs: Array.from({ length: 100 }, () => atMs), generation: 0 } },
    known: { keyedRunId: limitedId, sentDigest: 'd'.repeat(64) },
  };
  expect(await (await store.limitedStarts()).createRun(head(limitedId), writerId, place)).toBe('created');
  const later = { input: filling('input', payloadMaxBytes), startAtMs: atMs, deadlineAtMs: atMs };
  const debounce = { untilMs: atMs, startId: 'd'.repeat(32) };
  const known = { keyedRunId: laterId, sentDigest: 'd'.repeat(64) };
  expect(
    await (
      await store.limitedStarts()
    ).replaceInput({ runId: limitedId, createdAtMs: atMs }, { ...later, debounce }, known),
  ).toBe(true);
  expect(await (await store.limitedStarts()).closeDebounce(limitedId, debounce)).toBe(true);
  expect(await store.lanes.waitBehind(head(limitedId), { key: wide(85) }, head(runId), atMs)).toBe('waiting');
  await store.lanes.markDue(limitedId, atMs);
  await store.inbox.seed(signal('2'.repeat(32), '2'));
  expect(await store.inbox.put(signal(runId, '3'))).toBe('accepted');
  const cancel = {
    runId,
    inboxId: `cancel-${wide(128)}`,
    kind: 'cancel',
    reason: wide(1_365),
    atMs,
    dueAtMs: atMs,
  } as const;
  expect(await store.inbox.put(cancel)).toBe('accepted');
  await store.inbox.clearMarker(runId, cancel.inboxId, atMs);
  const message = { messageId: 'm', role: 'user', parts: [{ text: filling('payload', signalMaxBytes) }] } as const;
  const sent = { runId, kind: 'message', payload: message, atMs, dueAtMs: atMs } as const;
  expect(await store.inbox.put({ ...sent, inboxId: 'message-m', answers: waitId, carried: true })).toBe('accepted');
  const blocked = { seq: 0, dueAtMs: atMs, publishedSeq: 1, blocked: error('blocked', payloadMaxBytes) };
  expect(await store.headMarkers.block(runId, blocked)).toBe(true);
  await store.headMarkers.setPublished(runId, 2);
  expect(await store.headMarkers.set(runId, { seq: 0, dueAtMs: atMs, publishedSeq: 3, blocks: 1 })).toBe(true);
  expect(await store.headMarkers.block(runId, blocked)).toBe(true);

  const pushConfigs = await store.pushConfigs();
  const pushConfig = { taskId: runId, configId: 'c', createdAtMs: atMs, wire: '1.0', cursor: 1, owed: 1 } as const;
  const pushed = { writerId, claimUntilMs: atMs, closedAtMs: atMs, removedAtMs: atMs, failures: 1, refusals: 1 };
  const secretOfPushes = filling('receiver', 24 * 1_024);
  await pushConfigs.put({
    ...pushConfig,
    ...pushed,
    receiver: { url: 'https://x', token: secretOfPushes },
    dueAtMs: atMs,
  });

  // Tokens: everything that one item can hold.
  const text = filling('questions', questionsMax * questionMaxBytes);
  const asked: readonly RemoteQuestion[] = Array.from({ length: Math.ceil(text.length / questionMaxBytes) }, (_, n) => {
    const title = text.slice(n * questionMaxBytes, (n + 1) * questionMaxBytes);
    return { key: String(n), kind: 'form', message: 'x', schema: { title } };
  });
  const line = { to: 'r'.repeat(64), number: 20, dueAtMs: atMs, tries: 99, sinceMs: atMs, taken: 20, takenAtMs: atMs };
  const notices = { workflow: 'w'.repeat(64), lines: [line, { ...line, escalated: true, refused: true }] } as const;
  const token: TokenRecord = {
    runId,
    waitId,
    server: 's'.repeat(64),
    attempt: 1,
    writerId,
    createdAtMs: atMs,
    deadlineAtMs: atMs,
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    child: { runId, parentClose: 'terminate' },
    pollErrors: 1,
    onCancel: 'cancel',
    onTimeout: 'cancel',
    answersQuestions: true,
    followsProgress: true,
    form: { message: 'x', schema: { title: filling('form', questionMaxBytes) } },
    notices,
    tenant,
    step: {
      failedAttempts: 1,
      strikes: 1,
      sinceMs: atMs,
      lastError: error('stepError', payloadMaxBytes),
      progress: filling('stepProgress', stepProgressMaxBytes),
    },
    dueAtMs: atMs,
  };
  expect((await store.tokens.put(token)).put).toBe(true);
  expect((await store.starts.claim(runId, waitId, { attempt: 2, writerId })).claimed).toBe(true);
  const handedOver = { attempt: 3, writerId, workerDueAtMs: atMs };
  expect((await store.starts.claim(runId, waitId, handedOver)).claimed).toBe(true);
  const held = error('startHeld', payloadMaxBytes);
  expect(await store.workerStarts.move(runId, waitId, { seenDueAtMs: atMs, dueAtMs: atMs, held })).toBe(true);
  const start = { attempt: 3, seenDueAtMs: atMs, writerId, untilMs: atMs, dueAtMs: atMs };
  expect((await store.workerStarts.claim(runId, waitId, start)).claimed).toBe(true);
  const failed = { type: 'RemoteTaskStartFailed', atMs, waitId, attempt: 3, retryAtMs: atMs } as const;
  const came = { ...failed, error: error('startCame', payloadMaxBytes) };
  expect(
    (await store.workerStarts.record(runId, waitId, { claim: writerId, came, dueAtMs: atMs }))?.workerStart?.came,
  ).toEqual(came);
  const first = { list: asked, state: 'x', round: 1 };
  await store.questions.recordOfStart(runId, waitId, { attempt: 3, questions: first });
  const id = noise.slice(0, 1_024);
  const handle: RemoteTaskHandle = {
    server: 's'.repeat(64),
    protocol: 'mcp',
    wire: '2026-07-28',
    taskId: id,
    contextId: id,
    tenant: id,
    session: id,
    ttlMs: atMs,
    binding: 'HTTP+JSON',
    answersQuestions: true,
    pushConfigId: id,
  };
  const started = { handle, startedAtMs: atMs, dueAtMs: atMs, pollHintMs: atMs, questions: { list: asked } };
  expect((await store.starts.storeHandle(runId, waitId, started)).stored).toBe(true);
  expect(await store.polls.notePush(runId, waitId, atMs)).toBe(true);
  const claim = { seenDueAtMs: atMs, dueAtMs: atMs + 1 };
  expect((await store.polls.claim(runId, waitId, claim)).claimed).toBe(true);
  const poll = {
    claimedDueAtMs: atMs + 1,
    dueAtMs: atMs,
    pollErrors: 2,
    pollHintMs: atMs,
    ttlMs: atMs,
    sightings: { of: 'missing', count: 2, atMs },
    trail: { changes: [{ state: filling('trail', trailMaxBytes), atMs }], count: 500, stateSinceMs: atMs },
  } as const;
  expect(await store.polls.record(runId, waitId, poll)).toBe(true);
  const record = { claimedDueAtMs: atMs, dueAtMs: atMs, questions: { list: asked }, recorded: 100 };
  expect(await store.questions.record(runId, waitId, record)).toBe(true);
  expect(await store.polls.record(runId, waitId, { ...poll, claimedDueAtMs: atMs })).toBe(true);
  await store.questions.take(runId, waitId, 100);
  await store.polls.takeProgress(runId, waitId, 500);
  expect(await store.notices.write(token, { writerId, notices, dueAtMs: atMs })).toBe(true);
  const attempt = { seenDueAtMs: atMs, writerId, strikes: 2, atMs, leaseUntilMs: atMs };
  expect(await store.longSteps.claim(runId, waitId, attempt)).toBe(true);
  const progress: JsonValue = filling('stepProgress', stepProgressMaxBytes);
  expect(await store.longSteps.beat(runId, waitId, { writerId, leaseUntilMs: atMs, progress })).toBe(true);
  const failure = { claim: writerId, writerId, step: token.step!, dueAtMs: atMs };
  expect(await store.longSteps.recordFailure(runId, waitId, failure)).toBe(true);
  expect(await store.longSteps.move(runId, waitId, { seenDueAtMs: atMs, dueAtMs: atMs })).toBe(true);
  expect((await store.tokens.moveDeadline(runId, waitId, { deadlineAtMs: atMs, nowMs: 0 })).moved).toBe(true);
  const settlement: Settlement = {
    writerId,
    atMs,
    by: 'operator',
    caller: owner,
    proof: `jwt ${'j'.repeat(200)}`,
    outcome: {
      kind: 'completed',
      result: filling('outcome', payloadMaxBytes),
      isError: false,
      taskId: wide(340),
    },
  };
  expect((await store.tokens.settle(runId, waitId, settlement)).settled).toBe(true);
  await store.unwantedTasks.leaveHandle(runId, waitId, handle, { atMs, forCancel: true });
  await store.unwantedTasks.leaveHandle(runId, waitId, handle, { atMs, forCancel: false });
  await store.unwantedTasks.recordCancel(runId, waitId, { kind: 'refused', atMs });
  const stopped = { cancel: { kind: 'gaveUp', atMs }, orphanedAtMs: atMs } as const;
  expect(await store.tokens.clearMarker(runId, waitId, { dueAtMs: atMs, hasHandle: true }, stopped)).toBe(true);
  expect(await store.tokens.close(runId, '2', { writerId, atMs, outcome: 'run_ended' })).toBeDefined();
  expect(await store.unwantedTasks.claimLook(runId, '2', { seenDueAtMs: atMs, untilMs: atMs })).toBe(true);

  await store.heads.setLaterRun(runId, 'a'.repeat(32));
  await store.headMarkers.noteFailedTurn(runId, { cause: 'c'.repeat(16), count: 3, atMs });

  // The log.
  const events = [
    { type: 'StepCompleted', atMs, waitId, attempt: 1, result: filling('events', payloadMaxBytes) },
  ] as const;
  expect(await store.log.commit(runId, { seq: 1, writerId, events })).toBe(true);
  expect(
    await store.log.commitEnding(runId, { seq: 2, writerId, events }, 3, { status: 'continued', nextRunId: runId }),
  ).toBe(true);
  const end = {
    outcome: { status: 'continued', nextRunId: runId },
    endedAtMs: atMs,
    seen: { status: 'ending' },
    markAtMs: atMs,
  } as const;
  expect(
    await store.log.commitEnd({ runId, createdAtMs: atMs, owner, tenant }, { seq: 3, writerId, events }, end),
  ).toBe(true);
  await store.headMarkers.markEnded(runId, atMs);
  await store.headMarkers.clear(runId, atMs, 4);

  // Items that belong to no run.
  await store.schedules.save('s'.repeat(64), {
    revision: 0,
    fromMs: atMs,
    tickAtMs: atMs,
    runId,
    starting: { tickAtMs: atMs, sinceMs: atMs },
    waitingTickAtMs: atMs,
    pausedAtMs: atMs,
    pausedBy: owner,
  });
  const key = { name: 'k'.repeat(64), roles, tenant, createdAtMs: atMs, by: owner };
  const { keys, messages, permits } = await store.callers();
  expect(await keys.add({ ...key, digest: 'd'.repeat(64) }, writerId)).toBe(true);
  await keys.rotate(key.name, { digest: 'e'.repeat(64), oldDigest: 'd'.repeat(64) });
  await keys.noteUse(key.name, 20_000);
  await keys.revoke(key.name, atMs);
  expect(await messages.take(`caller ${'d'.repeat(32)}`, { atMs, perMinute: 1 })).toBe(true);
  const streams = await store.streamSlots();
  const slot = { slots: 1, holder: 'h'.repeat(32), untilMs: atMs + 1 };
  expect(await streams.take({ ...slot, owner: 'o'.repeat(32), atMs })).toEqual({ number: 0, taken: 1 });
  expect(await streams.renew(0, slot.holder, atMs + 2)).toBe(true);
  await streams.free(0, slot.holder);
  expect(await permits.takePermit(tenant, 'starts', { atMs, perMinute: 1 })).toBe(true);
  const pushes = await store.pushConfigs();
  const receiver = { url: `https://${'u'.repeat(4_088)}`, token: 't'.repeat(8_192) };
  const authentication = { scheme: 's'.repeat(64), credentials: 'c'.repeat(8_192) };
  const config = { taskId: runId, configId: 'p'.repeat(256), createdAtMs: atMs, wire: '1.0', cursor: 1 } as const;
  const counts = { owed: 0, failures: 0, refusals: 0 };
  await pushes.put({ ...config, ...counts, receiver: { ...receiver, authentication }, dueAtMs: atMs });
  const pushClaim = { taskId: runId, configId: config.configId, writerId };
  expect(await pushes.claim(pushClaim, { atMs, claimUntilMs: atMs + 1 })).toMatchObject({ receiver });
  expect(await pushes.advance(pushClaim, { from: 1, cursor: 2, claimUntilMs: atMs + 1 })).toBe(true);
  const [state] = await pushes.readOpen(runId);
  expect(await pushes.owe(state!, 3, atMs)).toBe(true);
  expect(await pushes.rest(pushClaim, { from: 2, cursor: 2 })).toBe(false);
  await pushes.putOff(pushClaim, { failures: 1, refusals: 1, dueAtMs: atMs });
  expect(await pushes.claim(pushClaim, { atMs, claimUntilMs: atMs })).toBeDefined();
  await pushes.close(pushClaim, atMs);
  expect(await pushes.remove(runId, config.configId, atMs)).toBe(true);
  expect(await store.proofs.take('0'.repeat(64), { use: '0'.repeat(64), atMs, untilMs: atMs + 1 })).toBe(true);
  const server = 's'.repeat(64);
  const { servers } = plain;
  const seenHealth = await servers.noteFailure(server, { atMs, streakMs: 1, seen: { failures: 0, trips: 0 } });
  await servers.open(server, { atMs, untilMs: atMs });
  await servers.claimProbe(server, { atMs, untilMs: atMs });
  await servers.hold(server, atMs);
  await servers.notePrompt(server, true);
  await servers.noteWord(server, 'w'.repeat(512));
  const limited = await servers.limits();
  const minute = Math.floor(atMs / 60_000);
  await limited.openMinute(server, { kind: 'starts', minute, count: 1, readsBefore: 1 });
  await limited.lease(server, { kind: 'reads', minute, count: 1, perMinute: 2, kindMax: 1 });
  await limited.beginLine(server, { kind: 'starts', fromMs: atMs, lengthMs: 1 });
  await limited.beginLine(server, { kind: 'reads', fromMs: atMs, lengthMs: 1 });
  await limited.reserve(server, { kind: 'reads', fromMs: atMs, lengthMs: 1 });
  const number = await limited.takeSlot(server, { slots: 1, holder: 'h'.repeat(32), atMs, untilMs: atMs + 1 });
  await limited.freeSlot(server, number ?? 0, 'h'.repeat(32));
  await servers.noteSuccess(server);
  expect(seenHealth.failures).toBe(1);

  // Checks that nothing is left out: every method that writes, and every attribute.
  const writes = Object.entries(plain)
    .filter(([part, of]) => typeof of === 'object' && part !== 'servers' && part !== 'lists')
    .flatMap(([part, of]) => Object.getOwnPropertyNames(Object.getPrototypeOf(of)).map((method) => `${part}.${method}`))
    .filter((name) => !/\.(constructor|read|glance|has|known)/.test(name));
  expect(writes.filter((method) => !called.has(method))).toEqual([]);
  for (const [kind, attributes] of Object.entries(limits)) {
    const missing = Object.keys(attributes).filter((attribute) => seen.get(kind as ItemKind)?.has(attribute) !== true);
    expect([kind, missing.filter((attribute) => !unused.has(attribute))]).toEqual([kind, []]);
  }
  expect(largest).toBeLessThan(itemMaxBytes);

  // Everything is read back as it was written.
  const records = await plain.runs.read(runId);
  expect(records?.head.input === undefined).toBe(false);
  const read = records?.tokens.find((one) => one.waitId === waitId);
  expect(read?.settlement?.outcome).toEqual(settlement.outcome);
  expect(read?.step?.progress).toEqual(token.step?.progress);
  expect(read?.questions?.list).toEqual(asked);
}

/** Attributes that no method of this version writes. */
const unused = new Set(['format', 'sentDigest']);

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import { createCipher, type PayloadCipher } from '../../../lib/store/cipher.js';
import { kmsKeyService } from '../../../lib/store/kms/key-service.js';
import { wrappingKeyring } from '../../../lib/store/kms/kms-keyring.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { namedKeyring, type PayloadKeyring } from '../../../lib/store/payload-keyring.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import { silentLog } from '../../../lib/base/log.js';
import { aFlow, started, WatchedServer } from '../../engine/support.js';
import { type FakeKms, startFakeKms } from '../../support/fake-kms.js';
import { heardLog } from '../../support/outputs/heard.js';

const minuteMs = 60_000;
const named = (byte = 1): PayloadKeyring => namedKeyring([{ keyId: 'k1', secret: new Uint8Array(32).fill(byte) }]);

let kms: FakeKms;
beforeEach(async () => {
  kms = await startFakeKms('alias/payloads', 'alias/next');
});
afterEach(async () => {
  await kms.close();
});

const clock = {
  atMs: 0,
  nowMs: () => clock.atMs,
};

/** Creates the keyring of a separate process, which remembers nothing of another. */
function keyring(keyId = 'alias/payloads'): PayloadKeyring {
  return wrappingKeyring(kmsKeyService({ keyId, endpoint: kms.endpoint }), clock);
}

describe('payloads under data keys of KMS', () => {
  it('open in another process, which asks KMS once for each data key', async () => {
    const sealing = createCipher(keyring());
    const sealed = await Promise.all(['a', 'b', 'c'].map(async (text) => sealing.seal(text, 'run 1')));
    expect(new Set(sealed.map((text) => text.split(':').slice(0, 2).join(':'))).size).toBe(1);
    expect(sealed[0]).toMatch(/^2k:[A-Za-z0-9+/]+=*:[A-Za-z0-9+/]+=*$/);
    const opening = createCipher(keyring());
    expect(await Promise.all(sealed.map(async (text) => opening.open(text, 'run 1')))).toEqual(['a', 'b', 'c']);
    expect([kms.count('GenerateDataKey'), kms.count('Decrypt')]).toEqual([1, 1]);
  });

  it('do not open elsewhere, changed, or under the wrapped key of another', async () => {
    const [one, two] = [createCipher(keyring()), createCipher(keyring())];
    const sealed = await one.seal('text', 'run 1');
    const other = await two.seal('text', 'run 1');
    const swapped = `2k:${other.split(':')[1] ?? ''}:${sealed.split(':')[2] ?? ''}`;
    for (const [text, context] of [
      [sealed, 'run 2'],
      [swapped, 'run 1'],
      [`${sealed.slice(0, -8)}AAAAAAA=`, 'run 1'],
      ['2k:AAAA:AAAA', 'run 1'],
      ['2k:AAAA', 'run 1'],
    ] as const) {
      await expect(createCipher(keyring()).open(text, context)).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    }
  });

  it('name what they are for in the encryption context, at both ends', async () => {
    const sealed = await createCipher(keyring()).seal('text', 'run 1');
    await createCipher(keyring()).open(sealed, 'run 1');
    expect(kms.calls.map(({ operation, body }) => [operation, body['EncryptionContext']])).toEqual([
      ['GenerateDataKey', { 'outwait:purpose': 'payload' }],
      ['Decrypt', { 'outwait:purpose': 'payload' }],
    ]);
  });

  it('take a new data key after 15 minutes, and after 10,000 payloads', async () => {
    const ring = keyring();
    await ring.current();
    clock.atMs += 15 * minuteMs - 1;
    await ring.current();
    expect(kms.count('GenerateDataKey')).toBe(1);
    clock.atMs += 1;
    for (let use = 0; use < 10_000; use++) await ring.current();
    expect(kms.count('GenerateDataKey')).toBe(2);
    await ring.current();
    expect(kms.count('GenerateDataKey')).toBe(3);
  });

  it('stay readable for 15 minutes after the right to their key is gone, and no longer', async () => {
    const cipher = createCipher(keyring());
    const sealed = await cipher.seal('text', 'run 1');
    kms.fault = { refuse: 'AccessDeniedException', status: 400 };
    clock.atMs += 15 * minuteMs - 1;
    expect(await cipher.open(sealed, 'run 1')).toBe('text');
    clock.atMs += 1;
    await expect(cipher.open(sealed, 'run 1')).rejects.toMatchObject({
      code: 'PAYLOAD_UNREADABLE',
      message: 'a stored payload cannot be read: KMS does not decrypt its key (AccessDeniedException)',
    });
  });

  it('forget the data key that was least recently used when there are more than 1,000', async () => {
    const opened: string[] = [];
    const ring = wrappingKeyring(
      {
        generate: async () => Promise.reject(new Error('not asked for')),
        unwrap: async (wrapped) => {
          opened.push(Buffer.from(wrapped).toString());
          return new Uint8Array(32);
        },
      },
      clock,
    );
    const find = async (n: number): Promise<unknown> =>
      ring.find({ kind: 'wrapped', wrapped: Buffer.from(`key ${n}`).toString('base64') });
    for (let n = 0; n < 1_000; n++) await find(n);
    await find(0);
    await find(1_000);
    opened.length = 0;
    await find(0);
    await find(1);
    expect(opened).toEqual(['key 1']);
  });

  it('open under the key that they were sealed under, also when new ones go to another', async () => {
    const old = await createCipher(keyring('alias/payloads')).seal('old', 'run 1');
    const cipher = createCipher(keyring('alias/next'));
    expect(await cipher.open(old, 'run 1')).toBe('old');
    expect(await cipher.open(await cipher.seal('new', 'run 1'), 'run 1')).toBe('new');
  });

  it('take the place of configured keys, which still open what is older', async () => {
    const old = await createCipher(named()).seal('old', 'run 1');
    const cipher = createCipher(keyring(), named());
    expect(await cipher.open(old, 'run 1')).toBe('old');
    const sealed = await cipher.seal('new', 'run 1');
    expect(sealed).toMatch(/^2k:/);
    await expect(createCipher(named()).open(sealed, 'run 1')).rejects.toThrow(
      'it is sealed under a KMS key, but none is configured',
    );
    await expect(createCipher(keyring()).open(old, 'run 1')).rejects.toThrow(
      'it is sealed under the key "k1", which is not configured',
    );
  });
});

describe('KMS that does not answer', () => {
  it.each([
    ['breaks the connection', 'drop'],
    ['is throttled', { refuse: 'ThrottlingException', status: 400 }],
    ['fails', { refuse: 'KMSInternalException', status: 500 }],
    ['has lost our credentials', { refuse: 'ExpiredTokenException', status: 400 }],
  ] as const)('and %s is an outage of the store, and asked again by the next', async (_, fault) => {
    const cipher = createCipher(keyring());
    kms.fault = fault;
    await expect(cipher.seal('text', 'run 1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    kms.fault = undefined;
    const sealed = await cipher.seal('text', 'run 1');
    const other = createCipher(keyring());
    kms.fault = fault;
    await expect(other.open(sealed, 'run 1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    kms.fault = undefined;
    expect(await other.open(sealed, 'run 1')).toBe('text');
  });

  it('is an outage for every writer, also when it refuses', async () => {
    kms.fault = { refuse: 'AccessDeniedException', status: 400 };
    await expect(createCipher(keyring()).seal('text', 'run 1')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'KMS returned no key for payloads (AccessDeniedException)',
    });
  });

  it('after a write leaves open whether the write was applied', async () => {
    const table = new MemoryTable();
    const put = async (cipher: PayloadCipher, input: string) =>
      new SealedTable(table, cipher).write({
        kind: 'put',
        item: { pk: 'run#1', sk: 'a', input },
        conditions: [{ kind: 'itemAbsent' }],
      });
    await put(createCipher(keyring()), 'first');
    const writer = createCipher(keyring());
    await writer.seal('warm', 'up');
    kms.fault = 'drop';
    await expect(put(writer, 'second')).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
  });
});

describe('a run whose payloads are under KMS', () => {
  const flow = aFlow(async (ctx) => {
    const { result } = await ctx.callRemoteTask({
      server: 'reports',
      tool: 't',
      arguments: { q: 'secret-of-arguments' },
    });
    return result;
  });
  const limits = { remainingMs: () => 60_000 };

  async function underKms(cipher: PayloadCipher) {
    const warnings: unknown[][] = [];
    const log = heardLog({ ...silentLog, warn: (...line) => void warnings.push(line) });
    const items = new Map<string, unknown>();
    const table = new MemoryTable({
      onApplied: (applied) => {
        for (const item of applied) items.set(`${item.pk} ${item.sk}`, item);
      },
    });
    const reports = new WatchedServer({ task: { after: { minutes: 5 }, result: 'secret-of-remote' } });
    const { app } = await started(flow, { reports }, { log });
    const use = (next: PayloadCipher): void => {
      Object.assign(app.deps, { store: new RunStore(new SealedTable(table, next)) });
    };
    use(cipher);
    return { app, runId: await app.start(flow, 'secret-of-input'), items, use, warnings, reports };
  }

  it('ends as any other, and leaves nothing readable in the table', async () => {
    const { app, runId, items } = await underKms(createCipher(keyring()));
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'secret-of-remote' });
    const dump = JSON.stringify([...items.values()]);
    expect(dump).not.toMatch(/secret-of/);
    expect(dump).toContain('"2k:');
  });

  it('is skipped with a warning, as are its polls, while KMS refuses; another run goes on (S0-63)', async () => {
    const { app, runId, use, warnings, reports } = await underKms(createCipher(keyring()));
    await app.settleDown();
    warnings.length = 0;
    kms.faultOf = 'Decrypt';
    kms.fault = { refuse: 'AccessDeniedException', status: 400 };
    use(createCipher(keyring()));
    await runTurn(app.deps, { runId }, limits);
    expect(await pollTask(app.deps, { kind: 'poll', runId, waitId: '1' })).toBe('stale');
    expect(warnings.map(([event]) => event)).toEqual([
      'run skipped: it cannot be read',
      'wait skipped: it cannot be read',
    ]);
    expect(reports.readAtMs).toEqual([]);
    const other = await app.start(flow, null);
    await runTurn(app.deps, { runId: other }, limits);
    expect((await app.show(other)).waits).toMatchObject([{ name: 't' }]);

    kms.fault = undefined;
    use(createCipher(keyring()));
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'secret-of-remote' });
  });

  it('is given back and not blocked while KMS does not answer', async () => {
    const { app, runId, use } = await underKms(createCipher(keyring()));
    await app.settleDown();
    use(createCipher(keyring()));
    kms.fault = 'drop';
    await expect(runTurn(app.deps, { runId }, limits)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(pollTask(app.deps, { kind: 'poll', runId, waitId: '1' })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    kms.fault = undefined;
    expect((await app.show(runId)).blocked).toBeUndefined();
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed' });
  });
});

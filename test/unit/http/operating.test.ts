import { describe, expect, it } from 'vitest';
import { aClient, errorOf, startedRun } from './client.js';

const someId = '0'.repeat(32);

async function talking(client = aClient()) {
  const runId = await startedRun(client, 'talks');
  const say = async (body: object = { payload: 'hello' }) => {
    const answer = await client.ask('POST', `/runs/${runId}/signals/say`, { body });
    await client.world.runTurns();
    return answer;
  };
  const show = async () => (await client.ask('GET', `/runs/${runId}`)).body as Record<string, unknown>;
  return { client, runId, say, show };
}

describe('POST /runs with more than an input', () => {
  it('keeps tags, and starts nothing before its delay has passed', async () => {
    const { ask, world } = aClient();
    const started = await ask('POST', '/runs', {
      body: {
        workflow: 'echo',
        input: { text: 'x' },
        tags: { team: 'blue' },
        delay: { minutes: 5 },
        timeout: { hours: 1 },
      },
    });
    expect(started.status).toBe(201);
    await world.runTurns();
    const { runId } = started.body as { runId: string };
    const { body } = await ask('GET', `/runs/${runId}`);
    expect(body).toMatchObject({
      status: 'running',
      tags: { team: 'blue' },
      startAtMs: 1_800_000_300_000,
      deadlineAtMs: 1_800_003_900_000,
    });
  });

  it.each([
    ['a delay in milliseconds', { delay: 5_000 }, 'delay'],
    ['a delay without a field', { delay: {} }, undefined],
    ['a delay in weeks', { delay: { weeks: 1 } }, 'delay'],
    ['a negative delay', { delay: { minutes: -1 } }, 'delay.minutes'],
    ['a delay of more than a year', { delay: { days: 366 } }, undefined],
    ['a timeout of eleven years', { timeout: { days: 4_015 } }, undefined],
    ['no time at all', { timeout: { minutes: 0 } }, undefined],
    ['tags that are no texts', { tags: { a: 1 } }, 'tags.a'],
    ['eleven tags', { tags: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`t${n}`, 'x'])) }, 'tags'],
    ['a signal without a name', { key: 'k', signal: {} }, 'signal.name'],
    ['a signal without a key of the start', { signal: { name: 'say' } }, undefined],
  ])('refuses %s', async (_what, fields, path) => {
    const { ask, world } = aClient();
    const answer = await ask('POST', '/runs', { body: { workflow: 'talks', ...fields } });
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    if (path !== undefined) expect(errorOf(answer)).toMatchObject({ details: { issues: [{ path }] } });
    expect(world.dump()).toBe('[]');
  });

  it('starts or signals: the first starts the run of the key, the second finds it, both signals are there', async () => {
    const client = aClient();
    const body = (payload: string) => ({ workflow: 'talks', key: 'k', signal: { name: 'say', payload } });
    const first = await client.ask('POST', '/runs', { body: body('one') });
    const second = await client.ask('POST', '/runs', { body: body('two') });
    await client.world.runTurns();
    expect([first.status, second.status]).toEqual([201, 200]);
    const { runId } = first.body as { runId: string };
    expect(second.body).toEqual({ runId, deduplicated: true });
    expect((await client.ask('POST', `/runs/${runId}/queries/said`)).body).toEqual({
      result: { said: 'one', input: null },
    });
    expect((await client.ask('GET', `/runs/${runId}`)).body).toMatchObject({ unreadSignals: ['say'] });
  });

  it('answers 409 to a start or signal whose run has ended', async () => {
    const client = aClient();
    const body = { workflow: 'echo', input: { text: 'x' }, key: 'k', signal: { name: 'say' } };
    await client.ask('POST', '/runs', { body });
    await client.world.runTurns();
    const answer = await client.ask('POST', '/runs', { body: { ...body, signal: { name: 'say', key: 'later' } } });
    expect([answer.status, errorOf(answer).code]).toEqual([409, 'RUN_ENDED']);
  });
});

describe('POST /runs/{id}/signals/{name}', () => {
  it('gives the run a signal, once for a key', async () => {
    const { say, show, client, runId } = await talking();
    expect(await say({ payload: 'hello', key: 's-1' })).toMatchObject({ status: 202, body: { accepted: true } });
    const before = client.world.dump();
    expect(await say({ payload: 'hello', key: 's-1' })).toMatchObject({ status: 202, body: { accepted: true } });
    expect(await say({ payload: 'again', key: 's-1' })).toMatchObject({
      status: 409,
      body: { error: { code: 'KEY_REUSED' } },
    });
    expect(client.world.dump()).toBe(before);
    expect(await show()).toMatchObject({ waits: [{ kind: 'external', name: 'approval' }] });
    expect((await client.ask('POST', `/runs/${runId}/queries/said`)).body).toMatchObject({ result: { said: 'hello' } });
  });

  it('takes one without a payload, and without a body', async () => {
    const { client, runId, show } = await talking();
    expect((await client.ask('POST', `/runs/${runId}/signals/say`)).body).toEqual({ accepted: true });
    await client.world.runTurns();
    expect(await show()).toMatchObject({ waits: [{ kind: 'external' }] });
  });

  it('says that an ended run takes none', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    expect(await client.ask('POST', `/runs/${runId}/signals/say`)).toMatchObject({
      status: 202,
      body: { accepted: false },
    });
  });

  it.each([
    ['an unknown run', `/runs/${someId}/signals/say`, {}, 404, 'RUN_NOT_FOUND'],
    ['an id that is none', '/runs/x/signals/say', {}, 404, 'RUN_NOT_FOUND'],
    ['a payload of more than 256 KiB', 'say', { payload: 'x'.repeat(262_143) }, 413, 'PAYLOAD_TOO_LARGE'],
    ['an unknown field', 'say', { paylaod: 1 }, 400, 'INPUT_INVALID'],
    ['an empty key', 'say', { key: '' }, 400, 'INPUT_INVALID'],
    ['a key of 129 characters', 'say', { key: 'k'.repeat(129) }, 400, 'INPUT_INVALID'],
    ['a key of 256 bytes', 'say', { key: 'é'.repeat(128) }, 400, 'INPUT_INVALID'],
    ['a name of 129 characters', 'n'.repeat(129), {}, 400, 'INPUT_INVALID'],
  ])('refuses %s', async (_what, path, body, status, code) => {
    const { client, runId } = await talking();
    const before = client.world.dump();
    const answer = await client.ask('POST', path.startsWith('/') ? path : `/runs/${runId}/signals/${path}`, { body });
    expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
    expect(client.world.dump()).toBe(before);
  });
});

describe('POST /runs/{id}/pause, /resume and /retry-now', () => {
  it('hold a run and let it go on', async () => {
    const { client, runId, say, show } = await talking();
    expect(await client.ask('POST', `/runs/${runId}/pause`)).toMatchObject({ status: 202, body: { accepted: true } });
    await client.world.runTurns();
    expect(await show()).toMatchObject({ pausedUntilMs: 1_800_086_400_000 });
    expect((await client.ask('GET', `/runs/${runId}/why`)).body).toMatchObject({ pausedUntilMs: 1_800_086_400_000 });
    await client.ask('POST', `/runs/${runId}/resume`, { body: {} });
    await client.world.runTurns();
    expect(await show()).not.toHaveProperty('pausedUntilMs');
    await say();
    expect(await show()).toMatchObject({ waits: [{ kind: 'external' }] });
  });

  it('retry-now is recorded', async () => {
    const { client, runId } = await talking();
    expect(await client.ask('POST', `/runs/${runId}/retry-now`)).toMatchObject({ status: 202 });
    await client.world.runTurns();
    const { events } = (await client.ask('GET', `/runs/${runId}/history`)).body as { events: { type: string }[] };
    expect(events.map(({ type }) => type)).toContain('RetryNowRequested');
  });

  it.each(['pause', 'resume', 'retry-now'])('%s takes no fields and knows no other run', async (action) => {
    const { client, runId } = await talking();
    expect((await client.ask('POST', `/runs/${runId}/${action}`, { body: { now: true } })).status).toBe(400);
    expect((await client.ask('POST', `/runs/${someId}/${action}`)).status).toBe(404);
    expect((await client.ask('GET', `/runs/${runId}/${action}`)).status).toBe(405);
  });
});

describe('GET /runs/{id}/why (EN-12)', () => {
  it('names each open wait, since when it is open, and when it is next handled', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const { status, body } = await client.ask('GET', `/runs/${runId}/why`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      runId,
      status: 'running',
      waits: [
        {
          waitId: '1',
          kind: 'remoteTask',
          name: 'export',
          server: 'reports',
          sinceMs: 1_800_000_000_000,
          deadlineAtMs: 1_800_003_600_000,
        },
      ],
    });
    expect((body as { waits: { nextAtMs: number }[] }).waits[0]!.nextAtMs).toBeGreaterThan(1_800_000_000_000);
  });

  it('gives the outcome of a run that waits for nothing any more', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    expect((await client.ask('GET', `/runs/${runId}/why`)).body).toEqual({
      runId,
      status: 'completed',
      outcome: { status: 'completed', result: { said: 'x' } },
      waits: [],
    });
  });

  it('says that a delayed run has yet to start', async () => {
    const client = aClient();
    const { body } = await client.ask('POST', '/runs', { body: { workflow: 'talks', delay: { days: 1 } } });
    const { runId } = body as { runId: string };
    expect((await client.ask('GET', `/runs/${runId}/why`)).body).toMatchObject({ startAtMs: 1_800_086_400_000 });
    expect((await client.ask('GET', `/runs/${someId}/why`)).status).toBe(404);
  });
});

describe('POST /runs/{id}/queries/{name}', () => {
  it('asks the workflow, with an input, and changes nothing', async () => {
    const { client, runId, say } = await talking();
    await say();
    const before = client.world.dump();
    const answer = await client.ask('POST', `/runs/${runId}/queries/said`, { body: { input: { deep: true } } });
    expect(answer).toMatchObject({ status: 200, body: { result: { said: 'hello', input: { deep: true } } } });
    expect((await client.ask('POST', `/runs/${runId}/queries/nothing`)).body).toEqual({});
    expect(client.world.dump()).toBe(before);
  });

  it.each([
    ['unknown', 404, 'QUERY_NOT_FOUND'],
    ['broken', 422, 'QUERY_FAILED'],
  ])('answers for a query that is %s', async (name, status, code) => {
    const { client, runId } = await talking();
    const answer = await client.ask('POST', `/runs/${runId}/queries/${name}`);
    expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
    expect((await client.ask('POST', `/runs/${someId}/queries/${name}`)).status).toBe(404);
  });
});

describe('POST /runs/{id}/waits/{waitId}/settle', () => {
  it('ends a wait with a result, once', async () => {
    const { client, runId, say, show } = await talking();
    await say();
    const settle = (result: string) =>
      client.ask('POST', `/runs/${runId}/waits/2/settle`, { body: { output: { result } } });
    expect(await settle('yes')).toMatchObject({ status: 200, body: { settled: true } });
    expect(await settle('no')).toMatchObject({ status: 200, body: { settled: false, reason: 'already_settled' } });
    await client.world.runTurns();
    expect(await show()).toMatchObject({ outcome: { status: 'completed', result: 'yes' } });
    const { events } = (await client.ask('GET', `/runs/${runId}/history`)).body as { events: { type: string }[] };
    expect(events.filter(({ type }) => type === 'TokenSettled')).toMatchObject([{ settlement: { by: 'operator' } }]);
  });

  it('fails a wait, and the workflow can read whether another attempt may help', async () => {
    const { client, runId, say, show } = await talking();
    await say();
    await client.ask('POST', `/runs/${runId}/waits/2/settle`, { body: { error: 'not today', retryable: true } });
    await client.world.runTurns();
    expect(await show()).toMatchObject({
      status: 'failed',
      outcome: { error: { message: expect.stringContaining('not today') as unknown, details: { retryable: true } } },
    });
  });

  it.each([
    ['neither', {}],
    ['both', { output: { result: 1 }, error: 'x' }],
    ['a result that is missing', { output: {} }],
    ['an empty error', { error: '' }],
    ['two spellings that differ', { output: { result: 1, isError: true, is_error: false } }],
  ])('refuses %s', async (_what, body) => {
    const { client, runId, say } = await talking();
    await say();
    const before = client.world.dump();
    const answer = await client.ask('POST', `/runs/${runId}/waits/2/settle`, { body });
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    expect(client.world.dump()).toBe(before);
  });

  it.each([
    `/runs/${someId}/waits/1/settle`,
    '/runs/{}/waits/9/settle',
    '/runs/{}/waits/x/settle',
    '/runs/{}/waits/1/settle',
  ])('answers 404 if there is nothing to settle: %s', async (path) => {
    // Wait 1 is for a signal, which has no token.
    const { client, runId } = await talking();
    const answer = await client.ask('POST', path.replace('{}', runId), { body: { output: { result: 1 } } });
    expect(answer.status).toBe(404);
  });
});

describe('GET /runs, filtered', () => {
  it('takes tags, all of which must hold', async () => {
    const { ask } = aClient();
    const start = async (tags: object) =>
      (await ask('POST', '/runs', { body: { workflow: 'talks', tags } })).body as { runId: string };
    const { runId } = await start({ team: 'blue', env: 'a:b' });
    await start({ team: 'blue' });
    const list = async (query: string) => {
      const { runs } = (await ask('GET', `/runs?${query}`)).body as { runs: { runId: string }[] };
      return runs.map((run) => run.runId);
    };
    expect(await list('tag=team:blue&tag=env:a:b')).toEqual([runId]);
    expect(await list('tag=team:blue')).toHaveLength(2);
    expect(await list('tag=team:red')).toEqual([]);
  });

  it.each(['tag=team', 'tag=:x', 'tag=', 'tag=a:1&tag=a:2', `tag=${'n'.repeat(65)}:x`, 'status=ending'])(
    'refuses %s',
    async (query) => {
      const answer = await aClient().ask('GET', `/runs?${query}`);
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    },
  );

  it('looks through ten pages of the index and then gives a cursor to go on from', async () => {
    const client = aClient();
    const wanted = await startedRun(client, 'waits');
    for (let n = 0; n < 8; n++) {
      client.world.clock.atMs += 1;
      await client.ask('POST', '/runs', { body: { workflow: 'talks' } });
    }
    let pages = 0;
    const listRuns = client.world.deps.store.lists.runs.bind(client.world.deps.store.lists);
    // Pages have one row each.
    client.world.deps.store.lists.runs = (status, _limit, before) => {
      pages += 1;
      return listRuns(status, 1, before);
    };
    const first = await client.ask('GET', '/runs?workflow=waits&limit=1');
    expect(pages).toBe(10);
    const { runs, cursor } = first.body as { runs: unknown[]; cursor: string };
    expect(runs).toEqual([]);
    const second = await client.ask('GET', `/runs?workflow=waits&limit=1&cursor=${encodeURIComponent(cursor)}`);
    expect(second.body).toMatchObject({ runs: [{ runId: wanted }] });
  });
});

describe('GET /runs/{id}/history in pages', () => {
  interface Page {
    readonly events: readonly { readonly seq: number }[];
    readonly nextAfter?: number;
  }

  it('gives whole commits after the one that is named, and where to go on', async () => {
    const { client, runId, say } = await talking();
    await say();
    const whole = (await client.ask('GET', `/runs/${runId}/history`)).body as Page;
    expect(whole).not.toHaveProperty('nextAfter');
    const read: { seq: number }[] = [];
    let after = 0;
    for (;;) {
      const page = (await client.ask('GET', `/runs/${runId}/history?after=${after}&limit=1`)).body as Page;
      expect(new Set(page.events.map(({ seq }) => seq)).size).toBe(1);
      read.push(...page.events);
      if (page.nextAfter === undefined) break;
      after = page.nextAfter;
    }
    expect(read).toEqual(whole.events);
    expect(after).toBeGreaterThan(0);
    expect((await client.ask('GET', `/runs/${runId}/history?after=99`)).body).toMatchObject({ events: [] });
  });

  it.each(['after=-1', 'after=x', 'after=1e3', 'limit=0', 'limit=1001', 'limit=', 'page=2'])(
    'refuses %s',
    async (query) => {
      const { client, runId } = await talking();
      expect((await client.ask('GET', `/runs/${runId}/history?${query}`)).status).toBe(400);
    },
  );
});

it('every one of these routes asks for the management token', async () => {
  const { ask } = aClient(undefined, { managementTokens: () => ['canary-s3cret'] });
  for (const [method, path] of [
    ['GET', 'why'],
    ['POST', 'pause'],
    ['POST', 'resume'],
    ['POST', 'retry-now'],
    ['POST', 'signals/say'],
    ['POST', 'queries/said'],
    ['POST', 'waits/1/settle'],
  ] as const) {
    const answer = await ask(method, `/runs/${someId}/${path}`);
    expect([path, answer.status]).toEqual([path, 401]);
  }
});

import { describe, expect, it } from 'vitest';
import { apiHandler, type ApiOptions } from '../../../lib/aws/api-handler.js';
import type { Caller, Role } from '../../../lib/base/caller.js';
import { defined } from '../../../lib/base/defined.js';
import type { LifecycleEvent } from '../../../lib/history/lifecycle-event.js';
import { authorizedCaller, listIn } from '../../../lib/http/authorizer-caller.js';
import type { AccessConfig } from '../../../lib/workflow/access.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { anEvent } from './event.js';
import { aWorld, type World } from './world.js';
import { heardMetrics } from '../../support/outputs/heard.js';

const management = 'canary-m'.repeat(3);
const claims = { tenant: 'tenant', everyTenant: '*', roles: 'roles' };

const family = defineWorkflow<{ round: number }>({
  name: 'family',
  run: async (ctx, { round }) => {
    if (round > 1) return ctx.signal('go');
    await ctx.child(kid, { input: null });
    return ctx.continueAsNew({ round: round + 1 });
  },
});
const kid = defineWorkflow({ name: 'kid', run: () => Promise.resolve('done') });
const asks = defineWorkflow({ name: 'asks', run: (ctx) => ctx.ask({ message: 'Yes?', timeout: { hours: 1 } }) });

interface Asked {
  readonly method?: string;
  readonly body?: object;
  readonly key?: string;
}

/** A client of the function, for callers that an authorizer has let pass, and for bearers of a key. */
function aClient({
  access = { claims },
  options = {},
  world = aWorld([family, kid, asks]),
}: { access?: AccessConfig; options?: ApiOptions; world?: World } = {}) {
  Object.assign(world.deps, { app: { ...world.deps.app, access } });
  const behind = apiHandler(() => world.deps, { byAuthorizer: true, ...options });
  const open = apiHandler(() => world.deps, { managementTokens: () => [management], ...options });
  const ask = async (caller: Caller | undefined, path: string, { method, body, key }: Asked = {}) => {
    const [rawPath = '', query = ''] = path.split('?');
    const event = anEvent({
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      path: rawPath,
      query,
      headers: {
        'content-type': 'application/json',
        ...defined({ authorization: key === undefined ? undefined : `Bearer ${key}` }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const authorizer = caller && {
      jwt: { claims: { sub: caller.id, tenant: caller.tenant ?? '*', roles: `[${caller.roles.join(' ')}]` } },
    };
    const given = { ...event, requestContext: { ...event.requestContext, ...defined({ authorizer }) } };
    const { statusCode, headers, body: text } = await (key === undefined ? behind : open)(given);
    return {
      status: statusCode,
      headers: headers ?? {},
      body: JSON.parse(text === '' ? '{}' : (text ?? '{}')) as Record<string, unknown>,
    };
  };
  const start = async (caller: Caller | undefined, body: object, given: Asked = {}): Promise<string> => {
    const answer = await ask(caller, '/runs', { ...given, body });
    expect(answer.status).toBeLessThan(300);
    await world.runTurns();
    return answer.body['runId'] as string;
  };
  return { world, ask, start };
}

const caller = (id: string, tenant?: string, roles: readonly Role[] = ['operate']): Caller => ({
  id,
  roles,
  ...defined({ tenant }),
});
const ann = caller('ann', 'acme');
const eve = caller('eve', 'globex');
const operator = caller('op');
const waits = { workflow: 'waits', input: { text: 'x' } };

describe('a run', () => {
  it('of a tenant belongs to it with its children and continuations, and so do its events', async () => {
    const world = aWorld([family, kid]);
    const events: LifecycleEvent[] = [];
    Object.assign(world.deps, {
      bus: { publish: async (given: readonly LifecycleEvent[]) => void events.push(...given) },
    });
    const { ask, start } = aClient({ world });
    await start(ann, { workflow: 'family', input: { round: 1 } });
    const list = (await ask(ann, '/runs?limit=100')).body['runs'] as { workflow: string }[];
    expect(list.map(({ workflow }) => workflow).sort()).toEqual(['family', 'family', 'kid']);
    expect(list.every((run) => 'owner' in run && run.owner === 'ann' && 'tenant' in run && run.tenant === 'acme')).toBe(
      true,
    );
    expect(events.length).toBeGreaterThan(4);
    expect(events.filter(({ owner, tenant }) => owner !== 'ann' || tenant !== 'acme')).toEqual([]);
    expect((await ask(eve, '/runs')).body).toEqual({ runs: [] });
  });

  it('that no caller with a name started has neither owner nor tenant', async () => {
    const world = aWorld();
    const handle = apiHandler(() => world.deps);
    await handle(
      anEvent({
        method: 'POST',
        path: '/runs',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(waits),
      }),
    );
    expect(world.dump()).not.toMatch(/"(owner|tenant|tenantPartition)"/);
  });

  it('started under the same key or id by two tenants and an operator is three runs', async () => {
    const { start } = aClient();
    for (const under of [{ key: 'order-1' }, { id: 'order-1' }]) {
      const ids = [
        await start(ann, { ...waits, ...under }),
        await start(eve, { ...waits, ...under }),
        await start(operator, { ...waits, ...under }),
      ];
      expect(new Set(ids).size).toBe(3);
      expect(await start(ann, { ...waits, ...under })).toBe(ids[0]);
      expect(await start(caller('bob', 'acme'), { ...waits, ...under })).toBe(ids[0]);
    }
  });

  it('started under a key without a tenant has the id that it always had', async () => {
    const { start, world } = aClient();
    const runId = await start(operator, { ...waits, key: 'order-1' });
    expect(runId).toBe(world.deps.tokens.keyedRunId('waits', 'order-1'));
    expect(runId).toBe('5685ffcbecb0ed9a805c29533ded9e09');
  });
});

describe('lists', () => {
  it('of a tenant are read page by page from its own partition, and those of operators hold all', async () => {
    const { ask, start, world } = aClient();
    const own: string[] = [];
    for (let n = 0; n < 7; n++) {
      world.clock.atMs += 1_000;
      own.unshift(await start(ann, { workflow: 'asks' }));
      await start(eve, { workflow: 'asks' });
      await start(operator, { workflow: 'asks' });
    }
    const pages = async (who: Caller, path: string, of: 'runs' | 'inputs'): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined, pages = 0; pages < 20; pages++) {
        const { body } = await ask(
          who,
          `${path}?limit=2${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        found.push(...(body[of] as { runId: string }[]).map(({ runId }) => runId));
        cursor = body['cursor'] as string | undefined;
        if (cursor === undefined) break;
      }
      return found;
    };
    expect(await pages(ann, '/runs', 'runs')).toEqual(own);
    expect(await pages(ann, '/inputs', 'inputs')).toEqual([...own].reverse());
    expect(await pages(operator, '/runs', 'runs')).toHaveLength(21);
    expect(await pages(operator, '/inputs', 'inputs')).toHaveLength(21);
    // A cursor of another tenant's page leads nowhere else.
    const { cursor } = (await ask(eve, '/inputs?limit=2')).body;
    expect((await ask(ann, `/inputs?limit=2&cursor=${encodeURIComponent(String(cursor))}`)).status).toBe(400);
  });
});

describe('what a caller does to a run', () => {
  it('is in its history with the id of the caller', async () => {
    const { ask, start, world } = aClient();
    const runId = await start(ann, { workflow: 'talks' });
    const post = async (path: string, body: object, who = ann) => {
      expect((await ask(who, `/runs/${runId}/${path}`, { body })).status).toBeLessThan(300);
      world.clock.atMs += 1_000;
      await world.runTurns();
    };
    await post('pause', {});
    await post('resume', {}, operator);
    await post('retry-now', {});
    await post('signals/say', { payload: 1 });
    await post('waits/2/settle', { output: { result: 1 } }, operator);
    const other = await start(ann, { workflow: 'asks' });
    expect((await ask(operator, `/inputs/${other}.1`, { body: { action: 'decline' } })).status).toBe(200);
    await world.runTurns();
    const events = async (of: string) =>
      (await ask(ann, `/runs/${of}/history`)).body['events'] as { type: string; by?: string; settlement?: object }[];
    const named = (await events(runId)).flatMap(({ type, by }) => (by === undefined ? [] : [`${type} ${by}`]));
    expect(named).toEqual([
      'RunPaused ann',
      'RunResumed op',
      'RetryNowRequested ann',
      'SignalReceived ann',
      'TokenSettled op',
    ]);
    expect((await events(other)).find(({ type }) => type === 'TokenSettled')).toMatchObject({
      by: 'op',
      settlement: { by: 'operator', caller: 'op' },
    });
    for (const kind of ['cancel', 'terminate']) {
      const stopped = await start(ann, waits);
      await ask(operator, `/runs/${stopped}/${kind}`, { body: {} });
      await world.runTurns();
      expect((await events(stopped)).filter(({ by }) => by === 'op').map(({ type }) => type)).toEqual([
        kind === 'cancel' ? 'CancelRequested' : 'TerminateRequested',
      ]);
    }
  });

  it('is told from the credential alone, whatever the body says', async () => {
    const { ask, start } = aClient();
    const answer = await ask(ann, '/runs', { body: { ...waits, owner: 'eve', tenant: 'globex' } });
    expect(answer.status).toBe(400);
    const runId = await start(ann, waits);
    expect((await ask(ann, `/runs/${runId}`)).body).toMatchObject({ owner: 'ann', tenant: 'acme' });
  });
});

describe('a named key', () => {
  it('is not looked for under a name that no key can have', async () => {
    const { ask } = aClient();
    for (const what of ['rotate', 'revoke'])
      for (const name of ['x'.repeat(3_000), 'A', '%00', 'a%2Fb'])
        expect((await ask(undefined, `/keys/${name}/${what}`, { key: management, body: {} })).status).toBe(404);
  });

  it('is shown once, rotated with an overlap, and revoked', async () => {
    const { ask, world } = aClient();
    const add = await ask(undefined, '/keys', { key: management, body: { name: 'ci', roles: ['read'] } });
    const first = add.body['key'] as string;
    expect([add.status, /^owk_ci\.[0-9a-f]{64}$/.test(first)]).toEqual([201, true]);
    expect(world.dump()).not.toContain(first.slice(8));
    const status = async (key: string) => (await ask(undefined, '/runs', { key })).status;
    expect(await status(first)).toBe(200);
    const second = (await ask(undefined, '/keys/ci/rotate', { key: management, body: {} })).body['key'] as string;
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    await ask(undefined, '/keys/ci/revoke', { key: management, body: { only: 'old' } });
    expect([await status(first), await status(second)]).toEqual([401, 200]);
    const third = (await ask(undefined, '/keys/ci/rotate', { key: management, body: {} })).body['key'] as string;
    await ask(undefined, '/keys/ci/revoke', { key: management, body: {} });
    expect([await status(second), await status(third)]).toEqual([401, 401]);
    expect((await ask(undefined, '/keys/ci/rotate', { key: management, body: {} })).status).toBe(404);
    expect((await ask(undefined, '/keys', { key: management, body: { name: 'ci', roles: ['admin'] } })).status).toBe(
      409,
    );
    expect((await ask(undefined, '/keys', { key: management })).body).toMatchObject({
      keys: [{ name: 'ci', roles: ['read'], oldIsValid: false, revokedAtMs: world.clock.atMs }],
    });
    expect(world.lines.map(({ fields }) => JSON.stringify(fields)).join()).not.toContain(second.slice(8));
  });

  it('of another name, of a wrong length or made up is refused alike', async () => {
    const { ask } = aClient();
    const { key } = (await ask(undefined, '/keys', { key: management, body: { name: 'ci', roles: ['read'] } }))
      .body as { key: string };
    const secret = key.split('.')[1]!;
    const wrong = [
      `owk_di.${secret}`,
      `owk_ci.${secret}0`,
      `owk_ci.${secret.slice(1)}`,
      `owk_ci.${'0'.repeat(64)}`,
      'owk_ci',
      'owk_',
      `OWK_ci.${secret}`,
    ];
    const answers = await Promise.all(wrong.map((one) => ask(undefined, '/runs', { key: one })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`))).toEqual(
      new Set([`401 ${JSON.stringify(answers[0]!.body)}`]),
    );
  });

  it('notes its use once a day', async () => {
    const { ask, world } = aClient();
    const { key } = (await ask(undefined, '/keys', { key: management, body: { name: 'ci', roles: ['read'] } }))
      .body as { key: string };
    const dumps = new Set<string>();
    for (let hours = 0; hours < 25; hours++) {
      await ask(undefined, '/runs', { key });
      dumps.add(world.dump());
      world.clock.atMs += 3_600_000;
    }
    expect(dumps.size).toBe(2);
  });
});

describe('the limits of a tenant', () => {
  const limited = (limits: AccessConfig['limits']) => aClient({ access: { claims, ...defined({ limits }) } });

  it('on live runs hold however they are started, and a run that has ended makes room', async () => {
    const { ask, start, world } = limited({ liveRuns: 2 });
    await start(ann, waits);
    const named = await start(ann, { ...waits, id: 'a' });
    const before = world.dump();
    for (const body of [
      waits,
      { ...waits, id: 'b' },
      { ...waits, key: 'k' },
      { workflow: 'talks', key: 'k2', signal: { name: 'say' } },
    ]) {
      const refused = await ask(ann, '/runs', { body });
      expect([refused.status, refused.headers['retry-after'], refused.body['error']]).toMatchObject([
        429,
        '30',
        { code: 'TENANT_LIMIT_REACHED', details: { limit: 'liveRuns', max: 2 } },
      ]);
    }
    expect(world.dump()).toBe(before);
    expect((await ask(eve, '/runs', { body: waits })).status).toBe(201);
    await ask(ann, `/runs/${named}/terminate`, { body: {} });
    await world.runTurns();
    const key = { ...waits, key: 'k' };
    const again = await start(ann, key);
    // A known key is answered with its run, although nothing is left.
    expect(await start(ann, key)).toBe(again);
    expect((await ask(ann, '/runs', { body: waits })).status).toBe(429);
  });

  it('on live runs count a chain of runs once, from its first start to its last end, and no children', async () => {
    const { ask, start, world } = limited({ liveRuns: 1 });
    await start(ann, { workflow: 'family', input: { round: 1 } });
    const [last] = (await ask(ann, '/runs?status=running')).body['runs'] as { runId: string; workflow: string }[];
    expect(last!.workflow).toBe('family');
    expect((await ask(ann, '/runs', { body: waits })).status).toBe(429);
    await ask(ann, `/runs/${last!.runId}/signals/go`, { body: {} });
    await world.runTurns();
    expect((await ask(ann, '/runs', { body: waits })).status).toBe(201);
    expect((await ask(ann, '/runs', { body: waits })).status).toBe(429);
  });

  it.each([
    ['startsPerMinute', '/runs', waits, 201],
    ['signalsPerMinute', 'signals/say', {}, 202],
  ] as const)('on %s begin anew with each minute, and refusing costs no write', async (limit, path, body, accepted) => {
    const { ask, start, world } = limited({ [limit]: 3 });
    const runId = limit === 'signalsPerMinute' ? await start(ann, { workflow: 'talks' }) : '';
    const to = path === '/runs' ? path : `/runs/${runId}/${path}`;
    world.clock.atMs = 1_800_000_000_000 + 20_500;
    const statuses: unknown[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await ask(ann, to, { body })).status);
    expect(statuses).toEqual([accepted, accepted, accepted]);
    expect((await ask(ann, to, { body })).headers['retry-after']).toBe('40');
    let writes = 0;
    const write = world.table.write.bind(world.table);
    const transact = world.table.transact.bind(world.table);
    Object.assign(world.table, {
      write: (one: never) => (writes++, write(one)),
      transact: (all: never) => (writes++, transact(all)),
    });
    expect((await ask(ann, to, { body })).status).toBe(429);
    expect(writes).toBe(0);
    Object.assign(world.table, { write, transact });
    world.clock.atMs += 40_000;
    expect((await ask(ann, to, { body })).status).toBe(accepted);
  });

  it('on payloads refuse a larger one, and limits of one tenant are not those of another', async () => {
    const { ask } = aClient({ access: { claims, limits: { payloadBytes: 20 }, limitsOf: { globex: {} } } });
    const body = { workflow: 'echo', input: { text: 'x'.repeat(30) } };
    expect((await ask(ann, '/runs', { body })).status).toBe(413);
    expect((await ask(eve, '/runs', { body })).status).toBe(201);
    expect((await ask(operator, '/runs', { body })).status).toBe(201);
  });
});

describe('a refusal', () => {
  it('is one log event with caller and route, at most 20 of a source in a minute, and always counted', async () => {
    const { ask, start, world } = aClient();
    const counts: string[] = [];
    Object.assign(world.deps, { metrics: heardMetrics({ put: (name: string) => void counts.push(name) }) });
    const runId = await start(ann, waits);
    const refused = () => world.lines.filter(({ event }) => event === 'request refused').map(({ fields }) => fields);
    await ask(eve, `/runs/${runId}/cancel`, { body: { reason: 'canary' } });
    await ask(caller('rea', 'acme', ['read']), `/runs/${runId}/cancel`, { body: { reason: 'canary' } });
    await ask(undefined, `/runs/${runId}/cancel`, { body: {}, key: 'canary'.repeat(4) });
    expect(refused()).toEqual([
      { reason: 'OTHER_TENANT', route: 'cancelRun', caller: 'eve', tenant: 'globex', sourceIp: '192.0.2.1' },
      { reason: 'FORBIDDEN', route: 'cancelRun', caller: 'rea', tenant: 'acme', sourceIp: '192.0.2.1' },
      { reason: 'UNAUTHORIZED', route: 'cancelRun', sourceIp: '192.0.2.1' },
    ]);
    expect(JSON.stringify(world.lines)).not.toContain('canary');
    // A run that nobody has is not one of another tenant.
    await ask(eve, `/runs/${'f'.repeat(32)}`);
    expect(refused()).toHaveLength(3);
    expect(counts.filter((name) => name === 'Refusals')).toHaveLength(3);
    for (let n = 0; n < 50; n++) await ask(eve, `/runs/${runId}`);
    expect(refused()).toHaveLength(22);
    expect(refused().at(-1)).toMatchObject({ isLastThisMinute: true });
    expect(counts.filter((name) => name === 'Refusals')).toHaveLength(53);
    await ask(caller('ida', 'globex'), `/runs/${runId}`);
    world.clock.atMs += 60_000;
    await ask(eve, `/runs/${runId}`);
    expect(refused()).toHaveLength(24);
  });
});

describe('the claims of a caller', () => {
  it.each([
    ['[read operate]', ['read', 'operate']],
    ['read,operate', ['read', 'operate']],
    ['read operate', ['read', 'operate']],
    ['read', ['read']],
    [
      ['read', 'operate'],
      ['read', 'operate'],
    ],
    ['[]', []],
    ['', []],
    ['[read', undefined],
    ['read]', undefined],
    ['[[read]]', undefined],
    [['read', 1], undefined],
    [{ read: true }, undefined],
    [7, undefined],
    [undefined, undefined],
  ])('that are a list may come as %j', (claim, expected) => {
    expect(listIn(claim)).toEqual(expected);
  });

  const jwt = (given: object) => ({ jwt: { claims: { sub: 'ann', ...given } } });
  it.each<[string, object, AccessConfig | undefined, Caller]>([
    ['without rules of access give every role, as before', jwt({}), undefined, { id: 'ann', roles: ['admin'] }],
    [
      'without a tenant give none where there is one for each',
      jwt({ roles: 'admin' }),
      { claims },
      { id: 'ann', roles: [] },
    ],
    [
      'with a tenant that cannot be one give none',
      jwt({ roles: 'admin', tenant: 'a#b' }),
      { claims },
      { id: 'ann', roles: [] },
    ],
    [
      'with a tenant that is a list give none',
      jwt({ roles: 'admin', tenant: ['acme'] }),
      { claims },
      { id: 'ann', roles: [] },
    ],
    [
      'of every tenant have no tenant',
      jwt({ roles: 'admin', tenant: '*' }),
      { claims },
      { id: 'ann', roles: ['admin'] },
    ],
    [
      'with a role that there is not give none',
      jwt({ roles: 'root constructor', tenant: 'acme' }),
      { claims },
      { id: 'ann', tenant: 'acme', roles: [] },
    ],
    [
      'with a name of every object as role give none',
      jwt({ roles: 'toString', tenant: 'acme' }),
      { claims: { ...claims, roleOf: { admins: 'admin' } } },
      { id: 'ann', tenant: 'acme', roles: [] },
    ],
    [
      'under rules for principals only give none',
      jwt({ roles: 'admin' }),
      { principals: {} },
      { id: 'ann', roles: [] },
    ],
    [
      'of a principal that is not named give none',
      { iam: { userArn: 'arn:aws:iam::1:user/x' } },
      { principals: {} },
      { id: 'arn:aws:iam::1:user/x', roles: [] },
    ],
    [
      'of a principal are not those that it sends',
      { iam: { userArn: 'arn:aws:iam::1:user/x' }, ...jwt({ roles: 'admin', tenant: '*' }) },
      { claims },
      { id: 'arn:aws:iam::1:user/x', roles: [] },
    ],
    [
      'with a long id give its digest',
      jwt({ sub: 'x'.repeat(129), roles: 'read', tenant: 'acme' }),
      { claims },
      { id: 'sha256:4c40d05bd5c3d1e1d7fa2c6c5fcb1e0f', tenant: 'acme', roles: ['read'] },
    ],
  ])('%s', (_, authorizer, access, expected) => {
    const { id, ...rest } = authorizedCaller(authorizer, access);
    const { id: expectedId, ...expectedRest } = expected;
    expect(rest).toEqual(expectedRest);
    expect(id.slice(0, 7)).toBe(expectedId.slice(0, 7));
    expect(Buffer.byteLength(id)).toBeLessThanOrEqual(128);
  });

  it.each([
    [{ claims: { roles: '' } }, 'claims must name'],
    [{ claims: { roles: 'r', roleOf: { a: 'root' } } }, 'claims.roleOf must give'],
    [{ principals: { a: { roles: ['root'] } } }, 'principals["a"].roles'],
    [{ principals: { a: { roles: ['read'], tenant: 'a b' } } }, 'principals["a"].tenant'],
    [{ limits: { liveRuns: 0 } }, 'liveRuns of "limits" must be a whole number from 1, got 0'],
    [{ limitsOf: { acme: { livesRuns: 1 } } }, 'limits of "acme" have no "livesRuns"'],
  ])('follow rules that are checked: %j', (access, message) => {
    expect(() => defineApp({ workflows: [], access: access as AccessConfig })).toThrow(message);
  });
});

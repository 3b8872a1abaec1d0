import { readdirSync, readFileSync } from 'node:fs';
import type { APIGatewayProxyEventV2, ScheduledEvent, SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { createMetrics } from '../../../lib/aws/metrics.js';
import { scheduleHandler } from '../../../lib/aws/schedule-handler.js';
import { turnHandler } from '../../../lib/aws/turn-handler.js';
import { storedError } from '../../../lib/base/errors.js';
import type { Metrics } from '../../../lib/base/metrics.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { protectTransports } from '../../../lib/remote/guard/protection.js';
import { createTestApp, scriptedServer } from '../../../lib/testing.js';
import { metrics as topology } from '../../../lib/topology/topology.js';
import { defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aWorld } from '../../unit/http/world.js';
import { outputs } from '../../support/outputs/heard.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const fixture = (name: string): unknown => JSON.parse(read(`test/support/fixtures/aws-events/${name}.json`)) as unknown;

/** Names of the type `MetricName`: the compiler requires a unit for each. */
const names = Object.keys(topology.units).sort();

/** Metrics that other tests show, by the test; each of them needs more than is here. */
const shownElsewhere: Readonly<Record<string, string>> = {
  OpenStreams: 'test/engine/serve/open-streams.test.ts',
  PushesReceived: 'test/unit/http/pushes.test.ts',
  StaleTasks: 'test/engine/progress.test.ts',
};

const limits = { remainingMs: () => 60_000, deliveryCount: 1 };

/** Runs steps that fail and succeed, a remote task, and runs that end in two ways. */
async function doWork(metrics: Metrics): Promise<void> {
  const works = defineWorkflow<{ fails: boolean }>({
    name: 'works',
    run: async (ctx, { fails }) => {
      await ctx.step('tries', (step) => {
        if (step.attempt === 1) throw new Error('not yet');
      });
      await ctx.callRemoteTask({ server: 'reports', tool: 'export' });
      if (fails) throw new Error('no');
    },
  });
  const reports = scriptedServer({ protocol: 'mcp', task: () => ({ after: { minutes: 1 }, result: {} }) });
  const app = createTestApp(
    defineApp({ workflows: [works], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) } }),
    { servers: { reports }, metrics },
  );
  for (const fails of [false, true]) await app.runToEnd(await app.start(works, { fails }));
}

/** Has two owners write a commit at once, and the code of another deployment not fit the history. */
async function quarrel(metrics: Metrics): Promise<void> {
  const world = aWorld();
  const deps = { ...world.deps, metrics };
  const { runId } = await startRun(deps, { workflow: 'talks', input: {} });
  await Promise.all([runTurn(deps, { runId }, limits), runTurn({ ...deps }, { runId }, limits)]);
  const talks = defineWorkflow({ name: 'talks', run: (ctx) => ctx.sleep({ hours: 1 }) });
  const { warmRuns: _warm, ...cold } = deps;
  await runTurn({ ...cold, app: defineApp({ workflows: [talks] }) }, { runId }, limits);
}

/** Has a server break its protocol. */
async function breakProtocol(metrics: Metrics): Promise<void> {
  const { deps } = aWorld();
  const reply = { kind: 'unknown', error: storedError('REMOTE_PROTOCOL_VIOLATION', 'odd') } as const;
  const inner = { ...deps.transports.get('reports'), start: async () => reply };
  const transports = protectTransports({ get: () => inner }, () => undefined, {
    ...deps,
    states: deps.store.servers,
    metrics,
  });
  await transports.get('reports').start({ request: { kind: 'tool', tool: 'x', arguments: {} }, idempotencyKey: 'k' });
}

/** Sends the functions what they refuse, and sweeps. */
async function refuse(metrics: Metrics): Promise<void> {
  const world = aWorld();
  const getDeps = () => ({ ...world.deps, metrics });
  const api = apiHandler(getDeps, { managementTokens: () => ['canary-right'] });
  const get = fixture('http-api-v2-get') as APIGatewayProxyEventV2;
  const ask = (method: string, path: string): APIGatewayProxyEventV2 => ({
    ...get,
    routeKey: '$default',
    rawPath: path,
    rawQueryString: '',
    headers: { 'content-type': 'application/json', host: 'api.example.com' },
    body: '{}',
    requestContext: { ...get.requestContext, http: { ...get.requestContext.http, method, path } },
  });
  expect((await api(ask('GET', '/runs'))).statusCode).toBe(401);
  expect((await api(ask('POST', '/activities/external/forged/complete'))).body).toContain('TOKEN_INVALID');
  const batch = fixture('sqs-fifo') as SQSEvent;
  const Records = [{ ...batch.Records[0]!, body: 'malformed' }];
  await turnHandler(getDeps)({ Records }, { getRemainingTimeInMillis: () => 60_000 });
  await scheduleHandler(getDeps)({ ...(fixture('scheduled') as ScheduledEvent), time: new Date(0).toISOString() });
}

describe('the metrics', () => {
  it('of the type are those that the runbook lists, and no others', () => {
    const [, section = ''] = read('docs/operations.md').split('\n## Metrics\n');
    const listed = [...section.split('\n## ')[0]!.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual(names);
  });

  it('of the type are those that the code puts, and no others', () => {
    const text = readdirSync(new URL('lib', root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !['base/metrics.ts', 'topology/topology.ts'].includes(path))
      .map((path) => read(`lib/${path}`))
      .join('\n');
    expect(names.filter((name) => !text.includes(`'${name}'`))).toEqual([]);
    const put = [...text.matchAll(/metrics\??\.put\(\s*'(\w+)'/g)].map(([, name]) => name!);
    expect(put.length).toBeGreaterThan(10);
    expect(put.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('of the type are those that come out of the functions, with no dimensions but ours', async () => {
    const lines: string[] = [];
    const metrics = createMetrics({
      table: 'outwait-1',
      version: { functionName: 'Outwait-Turn', version: '3' },
      clock: { nowMs: () => 1_800_000_000_000 },
      write: (line) => {
        outputs.hear('metric', line);
        lines.push(line);
      },
    });
    for (const act of [doWork, quarrel, breakProtocol, refuse]) await act(metrics);
    metrics.flush?.();
    const written = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const known = [
      '_aws',
      'Table',
      ...Object.values(topology.versionDimensions),
      ...Object.values(topology.labelDimensions),
    ];
    const seen = new Set(written.flatMap(Object.keys).filter((name) => !known.includes(name)));
    const here = names.filter((name) => !(name in shownElsewhere));
    expect([...seen].sort()).toEqual(here);
    for (const [name, test] of Object.entries(shownElsewhere))
      if (names.includes(name)) expect(read(test)).toContain(name);

    // Bounded: names of the configuration, and words.
    const values = written.flatMap((line) =>
      Object.values(topology.labelDimensions).flatMap((dimension) => line[dimension] ?? []),
    );
    expect(values.filter((value) => typeof value !== 'string' || !/^[A-Za-z0-9_-]{1,20}$/.test(value))).toEqual([]);
  });
});

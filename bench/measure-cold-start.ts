import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { bundle } from '../lib/bundle/bundle.js';
import type { FunctionName } from '../lib/topology/topology.js';
import { openAwsStandIn } from './aws-stand-in.js';

/** Times of one start of a function in its own process. */
export interface ColdStart {
  /** Milliseconds from the start of the script until the function is loaded. */
  readonly importMs: number;
  /**
   * Milliseconds from then until its first event is answered: credentials, clients, a secret, one or more reads of the
   * table.
   */
  readonly firstCallMs: number;
  /** CPU milliseconds of the whole start, which depend less on other processes that want the same cores. */
  readonly cpuMs: number;
}

export interface ColdStarts {
  /** Starts of the function as deployed. */
  readonly bundled: readonly ColdStart[];
  /** Starts with the SDK left out and found as in a runtime that brings its own: file by file. */
  readonly sdkOutside: readonly ColdStart[];
}

/** `serve` answers as a stream, for an app that serves workflows. */
export type MeasuredFunction = Exclude<FunctionName, 'serve'>;

export interface ColdStartOptions {
  /** The program that runs the function. */
  readonly node: string;
  readonly names: readonly MeasuredFunction[];
  /** Starts of each of the two variants. */
  readonly starts: number;
}

const root = new URL('../', import.meta.url);
const runId = '0'.repeat(32);

/** Starts functions repeatedly, alternately with and without the SDK in their bundles. */
export async function measureColdStarts({
  node,
  names,
  starts,
}: ColdStartOptions): Promise<Readonly<Record<string, ColdStarts>>> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-cold-start-'));
  const aws = await openAwsStandIn();
  try {
    await symlink(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'), 'junction');
    const script = join(folder, 'start.mjs');
    await writeFile(script, startScript);
    const measured: Record<string, ColdStarts> = {};
    for (const name of names) {
      const [bundled, sdkOutside] = await Promise.all([
        bundleIn(join(folder, name), name, []),
        bundleIn(join(folder, `${name}-outside`), name, ['@aws-sdk/*', '@smithy/*']),
      ]);
      const start = async (file: string): Promise<ColdStart> => {
        const { stdout } = await promisify(execFile)(
          node,
          [script, pathToFileURL(file).href, JSON.stringify(eventsOf[name])],
          { env: environment(aws.endpoint) },
        );
        // Metrics are printed before it.
        return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as ColdStart;
      };
      const found = { bundled: [] as ColdStart[], sdkOutside: [] as ColdStart[] };
      // The first start of each variant reads its files from disk.
      await start(bundled);
      await start(sdkOutside);
      for (let run = 0; run < starts; run++) {
        found.bundled.push(await start(bundled));
        found.sdkOutside.push(await start(sdkOutside));
      }
      measured[name] = found;
    }
    return measured;
  } finally {
    await aws.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function bundleIn(outDir: string, name: string, external: readonly string[]): Promise<string> {
  await mkdir(outDir);
  const { [name]: file = '' } = await bundle({
    configFile: fileURLToPath(new URL('bench/small-app/outwait.config.ts', root)),
    outDir,
    entries: { [name]: fileURLToPath(new URL(`functions/${name}.ts`, root)) },
    external,
  });
  return file;
}

const startScript = `
const [file, event] = process.argv.slice(2);
const begun = performance.now();
const cpuBefore = process.cpuUsage();
const { handler } = await import(file);
const loaded = performance.now();
const answer = await handler(JSON.parse(event), { getRemainingTimeInMillis: () => 60_000 });
const answered = performance.now();
const { user, system } = process.cpuUsage(cpuBefore);
const fine = answer === undefined || answer.statusCode === 200 || answer.batchItemFailures?.length === 0;
if (!fine) throw new Error('the function did not do it: ' + JSON.stringify(answer));
const figures = { importMs: loaded - begun, firstCallMs: answered - loaded, cpuMs: (user + system) / 1_000 };
process.stdout.write('\\n' + JSON.stringify(figures));
process.exit(0);
`;

function environment(endpoint: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    OUTWAIT_TABLE: 'outwait',
    OUTWAIT_TURN_QUEUE_URL: `${endpoint}/turn`,
    OUTWAIT_WORK_QUEUE_URL: `${endpoint}/work`,
    OUTWAIT_STEP_QUEUE_URL: `${endpoint}/step`,
    OUTWAIT_START_QUEUE_URL: `${endpoint}/start`,
    OUTWAIT_SLOW_QUEUE_URL: `${endpoint}/slow`,
    OUTWAIT_TOKEN_KEYS_SECRET: 'keys',
    OUTWAIT_MANAGEMENT_TOKEN_SECRET: 'keys',
    OUTWAIT_LOG_LEVEL: 'error',
  };
}

const record = (message: unknown): unknown => ({
  Records: [{ messageId: 'm', body: JSON.stringify(message), attributes: { ApproximateReceiveCount: '1' } }],
});

/** First event of each function: about runs that do not exist, so that the function only reads. */
const eventsOf: Readonly<Record<MeasuredFunction, unknown>> = {
  api: {
    rawPath: '/runs',
    rawQueryString: '',
    headers: { authorization: `Bearer ${'a'.repeat(64)}` },
    requestContext: { http: { method: 'GET', path: '/runs' } },
  },
  turn: record({ runId }),
  poll: record({ kind: 'poll', runId, waitId: '1', server: 'reports' }),
  step: record({ runId, waitId: '1', dueAtMs: 1 }),
  schedule: { time: '2026-11-29T10:00:00Z' },
};

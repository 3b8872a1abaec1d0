import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { runCli } from '../../system/local/dev-process.js';
import { type Result, run } from './in-process.js';

const hello = defineWorkflow<{ name: string }>({
  name: 'hello',
  run: (_ctx, { name }) => Promise.resolve({ greeting: `hello ${name}` }),
});
const fails = defineWorkflow({ name: 'fails', run: () => Promise.reject(new Error('no luck')) });
const sleeps = defineWorkflow({ name: 'sleeps', run: (ctx) => ctx.sleep({ hours: 1 }) });
const someId = '0'.repeat(32);

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [hello, fails, sleeps] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());
afterEach(() => {
  vi.unstubAllEnvs();
});

const ask = (...args: readonly string[]) => run(...args, '--url', engine.url);
const idIn = ({ out }: Result): string => /[0-9a-f]{32}/.exec(out)![0];

describe('outwait start', () => {
  it('prints the id of the run', async () => {
    const result = await ask('start', 'hello', '--input', '{"name":"you"}');
    expect(result).toEqual({ code: 0, out: `${idIn(result)}\n`, err: '' });
  });

  it('waits for the end and prints the outcome', async () => {
    const result = await ask('start', 'hello', '--input', '{"name":"you"}', '--wait');
    expect(result).toEqual({ code: 0, out: `${idIn(result)}\ncompleted: {"greeting":"hello you"}\n`, err: '' });
  });

  it('ends with 1 when the run that it waited for has not completed', async () => {
    const result = await ask('start', 'fails', '--wait');
    expect(result.code).toBe(1);
    expect(result.out).toMatch(/^[0-9a-f]{32}\nfailed: .*no luck.* \([A-Z_]+, at .*cli\.test\.ts:\d+:\d+\)\n$/);
  });

  it('gives the first run for a repeated key', async () => {
    const first = await ask('start', 'sleeps', '--key', 'k-1');
    const second = await ask('start', 'sleeps', '--key', 'k-1', '--json');
    expect(JSON.parse(second.out)).toEqual({ runId: idIn(first), deduplicated: true });
  });

  it('ends with 1 when the engine refuses, and says why', async () => {
    expect(await ask('start', 'nope')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^outwait: no workflow is named "nope".*\(WORKFLOW_NOT_FOUND\)\n$/) as unknown,
    });
    const asJson = await ask('start', 'nope', '--json');
    expect(JSON.parse(asJson.err)).toMatchObject({ error: { code: 'WORKFLOW_NOT_FOUND' } });
    expect(asJson.code).toBe(1);
  });
});

describe('reading and stopping', () => {
  it('lists runs as a table, and as JSON', async () => {
    const runId = idIn(await ask('start', 'sleeps'));
    const { code, out } = await ask('list', '--workflow', 'sleeps', '--status', 'running', '--limit', '100');
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^RUN +WORKFLOW +STATUS +STARTED +ENDED$/);
    expect(out).toMatch(new RegExp(`^${runId}  sleeps    running  \\d{4}-\\d\\d-\\d\\dT`, 'm'));
    const json = JSON.parse((await ask('list', '--limit', '1', '--json')).out) as { runs: unknown[] };
    expect(json.runs).toHaveLength(1);
    expect((await ask('list', '--workflow', 'nope')).out).toBe('no runs\n');
  });

  it('shows a run, what it waits for and how it ended', async () => {
    const sleeping = idIn(await ask('start', 'sleeps'));
    await eventually(async () => {
      expect((await ask('show', sleeping)).out).toMatch(/^waits for {2}timer, since \S+, next \S+$/m);
    });
    const ended = idIn(await ask('start', 'hello', '--input', '{"name":"x"}', '--wait'));
    const { out } = await ask('show', ended);
    expect(out).toMatch(/^workflow {3}hello \(version 1\)$/m);
    expect(out).toMatch(/^outcome {4}completed: \{"greeting":"hello x"\}$/m);
    expect(JSON.parse((await ask('show', ended, '--json')).out)).toMatchObject({ runId: ended, status: 'completed' });
  });

  it('shows the history in lines that a person reads (F45)', async () => {
    const runId = idIn(await ask('start', 'hello', '--input', '{"name":"x"}', '--wait'));
    const { code, out } = await ask('history', runId);
    expect(code).toBe(0);
    expect(out).toMatch(/^1 +\S+Z  run started: hello \(version 1\)$/m);
  });

  it.each(['cancel', 'terminate'])('%s asks the run to stop, and says when it has ended', async (command) => {
    const runId = idIn(await ask('start', 'sleeps'));
    expect(await ask(command, runId, '--reason', 'enough')).toEqual({ code: 0, out: 'accepted\n', err: '' });
    await eventually(async () => {
      expect((await ask('show', runId)).out).toMatch(/^status +(cancelled|terminated|failed)$/m);
    });
    expect(await ask(command, runId)).toEqual({ code: 1, out: 'not accepted: the run has ended\n', err: '' });
  });

  it('ends with 1 for a run that is not there', async () => {
    for (const command of ['show', 'history', 'cancel', 'terminate']) {
      expect(await ask(command, someId)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('(RUN_NOT_FOUND)') as unknown,
      });
    }
  });
});

describe('an engine that cannot be asked', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  it('is named, with what to do', async () => {
    const result = await run('list', '--url', 'http://127.0.0.1:2');
    expect(result).toEqual({
      code: 1,
      out: '',
      err: 'outwait: no answer from http://127.0.0.1:2; is outwait dev running? (set another URL with --url or OUTWAIT_URL)\n',
    });
  });

  it('is said to be at a port that no request is made to', async () => {
    const result = await run('list', '--url', 'http://127.0.0.1:4190');
    expect(result).toEqual({
      code: 1,
      out: '',
      err: 'outwait: fetch refuses the port of http://127.0.0.1:4190; start outwait dev on another one with --port\n',
    });
  });

  it('is taken from OUTWAIT_URL', async () => {
    vi.stubEnv('OUTWAIT_URL', engine.url);
    expect((await run('list')).code).toBe(0);
    vi.stubEnv('OUTWAIT_URL', 'http://127.0.0.1:2');
    expect((await run('list')).err).toContain('http://127.0.0.1:2');
  });

  it('is distinguished from another server', async () => {
    server = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<p>x')).listen(
      0,
      '127.0.0.1',
    );
    await new Promise((resolve) => server?.once('listening', resolve));
    const result = await run('list', '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(result.code).toBe(1);
    expect(result.err).toMatch(/is not an outwait engine \(HTTP 200\)/);
  });

  it('gets the management token from the environment', async () => {
    const requests: string[] = [];
    server = createServer((socket) =>
      socket.once('data', (data) => {
        requests.push(data.toString());
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"runs":[]}');
      }),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => server?.once('listening', resolve));
    vi.stubEnv('OUTWAIT_MANAGEMENT_TOKEN', 'canary-s3cret');
    await run('list', '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(requests[0]).toMatch(/^authorization: Bearer canary-s3cret\r$/im);
  });
});

describe('bad arguments end with 2 and say what was expected', () => {
  it.each([
    [[], 'Usage: outwait'],
    [['nope'], "unknown command 'nope'"],
    [['--nope'], "unknown option '--nope'"],
    [['start'], "missing required argument 'workflow'"],
    [['start', 'a', 'b'], 'too many arguments'],
    [['start', 'a', '--input'], "option '--input <json>' argument missing"],
    [['start', 'a', '--input', '{month:1}'], 'It must be JSON'],
    [['start', 'a', '--input', '1e999'], 'JSON has a number that is too large'],
    [['start', 'a', '--key', ''], 'A key must be 1 to 255 bytes, got 0'],
    [['start', 'a', '--key', 'é'.repeat(128)], 'A key must be 1 to 255 bytes, got 256'],
    [['start', 'a', '--url', 'here'], 'It must be an http or https URL'],
    [['start', 'a', '--url', 'ftp://x'], 'It must be an http or https URL'],
    [['list', 'x'], 'too many arguments'],
    [['list', '--limit', '0'], 'It must be a whole number from 1 to 100'],
    [['list', '--limit', '1e1'], 'It must be a whole number from 1 to 100'],
    [['list', '--status', 'done'], 'Allowed choices are running, completed, failed, cancelled, terminated, continued'],
    [['show'], "missing required argument 'runId'"],
    [['show', ''], 'The id of a run must be 1 to 383 bytes, got 0'],
    [['show', someId, '--wait'], "unknown option '--wait'"],
    [['history'], "missing required argument 'runId'"],
    [['history', 'a\nb'], 'The id of a run must not contain'],
    [['cancel'], "missing required argument 'runId'"],
    [['cancel', 'x'.repeat(384)], 'The id of a run must be 1 to 383 bytes'],
    [['cancel', someId, '--reason', 'x'.repeat(1_001)], 'It must be at most 1000 characters'],
    [['terminate'], "missing required argument 'runId'"],
    [['terminate', '-x'], "unknown option '-x'"],
    [['list', '--tag', 'team'], 'A tag has the form name=value'],
    [['list', '--tag', 'a=1', '--tag', 'a=2'], 'The tag a is given twice'],
    [['start', 'a', '--delay', '5'], 'It has no unit. It must be a duration of at most 10 years'],
    [['start', 'a', '--delay', '5m junk'], 'It is not a number with a unit.'],
    [['start', 'a', '--delay', '5 foo'], '"foo" is not a unit'],
    [['start', 'a', '--delay', '5m 5m'], 'It has minutes twice'],
    [['start', 'a', '--delay', '-5m'], "argument '-5m' is invalid"],
    [['start', 'a', '--delay', 'P1Y'], 'ISO 8601 durations have days, hours, minutes and seconds here'],
    [['start', 'a', '--delay', 'PT'], 'ISO 8601 durations have'],
    [['start', 'a', '--delay', '{}'], 'It must be a duration of at most 10 years'],
    [['start', 'a', '--timeout', '{"weeks":1}'], 'It must be a duration of at most 10 years'],
    [['start', 'a', '--timeout', '{"days":4000}'], 'It must be a duration of at most 10 years'],
    [['why'], "missing required argument 'runId'"],
    [['resume', someId, 'x'], 'too many arguments'],
    [['retry-now'], "missing required argument 'runId'"],
    [['signal', someId], "missing required argument 'name'"],
    [['signal', someId, ''], 'A name must be 1 to 128 characters, got 0'],
    [['signal', someId, 'go', '--payload', '{'], 'It must be JSON'],
    [['query', someId], "missing required argument 'name'"],
    [['settle', someId], "missing required argument 'waitId'"],
    [['settle', someId, '0', '--error', 'x'], 'The number of a wait is'],
    [['settle', someId, '1'], 'either --output or --error is required'],
    [['settle', someId, '1', '--output', '1', '--error', 'x'], 'cannot be used with option'],
    [['replay'], "missing required argument 'file'"],
    [['dev', '--port', '99999'], 'It must be a whole number from 0 to 65535'],
    [['dev', '--port', '-1'], 'It must be a whole number from 0 to 65535'],
    [['dev', '--store', 'oracle'], 'Allowed choices are dynamodb, memory'],
    [['dev', '--log-level', 'loud'], 'Allowed choices are debug, info, warn, error'],
    [['dev', '--dynamodb-endpoint', 'x'], 'It must be an http or https URL'],
    [['dev', '--store', 'memory', '--dynamodb-endpoint', 'http://127.0.0.1:1'], 'cannot be used with option'],
    [['dev', 'x'], 'too many arguments'],
  ])('%j', async (args, message) => {
    const result = await run(...args);
    expect(result.code).toBe(2);
    expect(result.err).toContain(message);
    expect(result.out).toBe('');
  });

  it('of OUTWAIT_URL too', async () => {
    vi.stubEnv('OUTWAIT_URL', 'here');
    expect(await run('list')).toMatchObject({ code: 2, err: expect.stringContaining('OUTWAIT_URL') as unknown });
  });

  it('but help and the version are no error', async () => {
    expect(await run('--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Commands:') as unknown,
      err: '',
    });
    expect(await run('--version')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as unknown,
    });
  });
});

describe('the command as a process', () => {
  it('ends with the code that its command gave', async () => {
    expect(await runCli(['show', ''])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('The id of a run must be') as unknown,
    });
    expect(await runCli(['start', 'fails', '--wait', '--url', engine.url])).toMatchObject({ code: 1 });
    expect(
      await runCli(['start', 'hello', '--input', '{"name":"x"}', '--wait', '--json', '--url', engine.url]),
    ).toMatchObject({ code: 0, stderr: '' });
  });
});

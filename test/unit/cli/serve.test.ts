import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { Wire } from '../../support/wire.js';
import { run } from './in-process.js';

const report = defineWorkflow({
  name: 'report',
  input: z.object({ month: z.string() }),
  run: async (ctx, { month }) => {
    ctx.progress(`Reading ${month}.\u001b[2J`);
    const answer = await ctx.ask({
      to: 'caller',
      message: 'Which cost centre?',
      schema: z.object({ costCentre: z.number().int() }),
    });
    if (answer.action !== 'accept') return ctx.reject('There is none.');
    ctx.artifact({ artifactId: 'rows', text: '1;2', append: true, lastChunk: true });
    return { month, ...answer.content };
  },
});
const talk = defineWorkflow({
  name: 'talk',
  input: z.looseObject({ contextId: z.string() }),
  run: async (ctx, { contextId }) => {
    ctx.progress(`in ${contextId}`);
    for await (const { parts } of ctx.messages()) return parts.map((part) => ('text' in part ? part.text : '?'));
    return undefined;
  },
});

let engine: LocalEngine;
const engineOf = async (options: { readonly isServed: boolean; readonly managementToken?: string }) => {
  const { isServed, ...more } = options;
  const agent = { name: 'Desk', description: 'Reports.' };
  const serve = { agent, skills: { report: { description: 'A month.', examples: ['May'] } }, onMessage: 'talk' };
  return startLocalEngine({
    app: defineApp({ workflows: [report, talk], ...(isServed ? { serve } : undefined) }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    ...{ log: silentLog, port: 0, ...more },
  });
};
beforeAll(async () => {
  engine = await engineOf({ isServed: true });
});
afterAll(() => engine.stop());
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const serve = (...args: readonly string[]) => run('serve', ...args, '--url', engine.url);
const taskIn = (out: string): string => /^task +(\S+)$/m.exec(out)?.[1] ?? '';

describe('outwait serve card', () => {
  it('shows where the agent is called, and what its skills take', async () => {
    const { code, out } = await serve('card');
    expect(code).toBe(0);
    expect(out).toMatch(/^agent +Desk \(version 1\)$/m);
    expect(out).toContain(`interface  JSONRPC 1.0 at ${engine.url}/a2a\n`);
    expect(out).toMatch(/^skill +report: A month\.$/m);
    expect(out).toContain('"properties":{"month":{"type":"string"}}');
    expect(out).not.toContain('Send one data part');
  });

  it('prints the card itself with --json, and that of one skill', async () => {
    const { out } = await serve('card', '--skill', 'report', '--json');
    expect(JSON.parse(out)).toMatchObject({ name: 'report', skills: [{ id: 'report' }] });
    expect(await serve('card', '--skill', 'nothing')).toMatchObject({
      code: 1,
      err: 'outwait: there is no such agent (ROUTE_NOT_FOUND)\n',
    });
  });
});

describe('outwait serve call', () => {
  it('follows a task to its end: status messages, the question and its answer, artifacts', async () => {
    const { code, out, err } = await serve('call', 'report', '{"month":"May"}', '--answer', '4711', '--context', 'c1');
    expect([code, err]).toEqual([0, '']);
    const context = 'context    c1\n';
    expect(out.replace(/^task .*\n/, '')).toBe(
      `${context}working\nworking    Reading May.\\u{1b}[2J\nasks       Which cost centre?\n` +
        `           expects {"costCentre":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}}\n` +
        'working\nartifact   rows, more, complete\n           1;2\n' +
        'artifact   result, complete\n           {"month":"May","costCentre":4711}\ncompleted\n',
    );
  });

  it('prints one line of JSON for the task, and for each change of it', async () => {
    const { out } = await serve('call', 'report', '{"month":"May"}', '--answer', '{"costCentre":1}', '--json');
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toHaveProperty('contextId');
    expect(lines.slice(1).map((line) => Object.keys(line)[0])).toEqual([
      ...['statusUpdate', 'statusUpdate', 'statusUpdate', 'statusUpdate'],
      ...['artifactUpdate', 'artifactUpdate', 'statusUpdate'],
    ]);
  });

  it('asks on a terminal, again after an answer that does not fit', async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as never);
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(
      Object.assign(new PassThrough(), { isTTY: true, columns: 80 }) as never,
    );
    stdin.write('many\n');
    const called = serve('call', 'report', '{"month":"May"}');
    stdin.on('resume', () => stdin.write('12\n'));
    const { code, out, err } = await called;
    expect(err).toMatch(/^outwait: .*costCentre.* \(INPUT_INVALID\)\n$/);
    expect(out).toContain('{ "month": "May", "costCentre": 12 }');
    expect(code).toBe(0);
  });

  it('fails where nobody can answer, and says how to go on', async () => {
    const { code, out, err } = await serve('call', 'report', '{"month":"May"}');
    const taskId = taskIn(out);
    expect([code, err]).toEqual([
      1,
      `outwait: the task waits for an answer: outwait serve watch ${taskId} --answer '…'\n`,
    ]);
    const watched = await serve('watch', taskId, '--answer', '{"action":"decline"}');
    expect(watched.code).toBe(1);
    expect(watched.out).toMatch(/Reading May[^]*rejected +There is none\.\n$/);
    // What an ended task was asked is not asked again.
    expect((await serve('watch', taskId, '--answer', '5')).out).toBe(watched.out);
  });

  it('is one task for one key', async () => {
    const calls = ['call', 'report', '{"month":"June"}', '--key', 'june', '--answer', '7'];
    expect(taskIn((await serve(...calls)).out)).toBe(taskIn((await serve(...calls)).out));
  });

  it('comes back to a stream that breaks, and shows each change once', async () => {
    const wire = await Wire.to(Number(new URL(engine.url).port));
    try {
      // Broken after its first piece, which has no event.
      wire.loseNext((body) => body.includes('SubscribeToTask'));
      const { code, out } = await run(
        ...['serve', 'call', 'report', '{"month":"May"}', '--answer', '1', '--url', wire.url],
      );
      expect(code).toBe(0);
      expect(wire.passed.filter(({ body }) => body.includes('SubscribeToTask'))).toHaveLength(2);
      expect(out.match(/Reading May|asks|artifact +rows|completed/g)).toHaveLength(4);
    } finally {
      await wire.close();
    }
  });

  it('sends text to the workflow for messages, and further text to its task', async () => {
    const first = await fetch(`${engine.url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
        params: {
          message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
          configuration: { returnImmediately: true },
        },
      }),
    });
    const { result } = (await first.json()) as { result: { task: { id: string } } };
    const { code, out } = await serve('call', '--message', 'one more', '--task', result.task.id);
    expect(code).toBe(0);
    expect(out).toContain('["one more"]');
  });
});

describe('errors of outwait serve are plain', () => {
  it.each([
    [
      ['call', 'report', '{"month":5}'],
      1,
      /^outwait: the input of workflow "report" is not valid: month.*\(INPUT_INVALID\)\n$/,
    ],
    [['call', 'nothing', '{}'], 1, /^outwait: no skill is named "nothing"; skills: report \(SKILL_NOT_FOUND\)\n$/],
    [['watch', 'nothing'], 1, /^outwait: no task has this id \(TASK_NOT_FOUND\)\n$/],
    [['call'], 2, /^outwait: expected a skill, or --message <text>\n$/],
    [['call', 'report', '--task', 't1'], 2, /^outwait: expected a skill, or --message <text>\n$/],
  ])('%s', async (args, code, message) => {
    expect(await serve(...args)).toMatchObject({ code, err: expect.stringMatching(message) as string });
  });

  it('say that nobody answers, or that nothing is served there, as JSON if that is wanted', async () => {
    const gone = await run('serve', 'card', '--url', 'http://127.0.0.1:4');
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('OUTWAIT_SERVE_URL') as string });
    const other = await engineOf({ isServed: false });
    const { err } = await run('serve', 'watch', 't1', '--json', '--url', other.url);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'NOT_SERVED' } });
    await other.stop();
  });

  it('say that the caller is not known, who is by OUTWAIT_MANAGEMENT_TOKEN', async () => {
    const managementToken = 'a-token-of-the-management-api';
    const closed = await engineOf({ isServed: true, managementToken });
    const watch = () => run('serve', 'watch', 't1', '--url', closed.url);
    expect((await watch()).err).toContain('(UNAUTHORIZED)');
    vi.stubEnv('OUTWAIT_MANAGEMENT_TOKEN', managementToken);
    expect((await watch()).err).toContain('(TASK_NOT_FOUND)');
    await closed.stop();
  });
});

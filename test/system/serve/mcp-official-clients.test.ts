import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { bundleProgram, type Program, startProgram } from '../processes.js';
import { type Balancer, startBalancer } from './balancer.js';
import type { McpClientOptions, McpReport } from './mcp-clients.js';
import { Replicas } from './replicas.js';

describeWithDynoxide('three replicas behind a balancer, over MCP', () => {
  let replicas: Replicas;
  let balancer: Balancer;
  const programs: Program[] = [];
  beforeAll(async () => {
    replicas = await Replicas.start(3);
    balancer = await startBalancer(replicas.urls);
  });
  afterAll(async () => {
    await balancer.stop();
    await replicas.stop();
    await Promise.all(programs.map((program) => program.remove()));
  });

  const run = async (name: string, mode: 'auto' | 'legacy' = 'auto'): Promise<McpReport> => {
    const program = await bundleProgram(`serve/${name}`);
    programs.push(program);
    const options: McpClientOptions = { url: balancer.url, key: await replicas.keyOf(`${name}-${mode}`), mode };
    const { code, stdout, stderr } = await startProgram(program, options).ended;
    expect([code, stderr]).toEqual([0, '']);
    const report = JSON.parse(stdout) as McpReport;
    expect(report.changed).toEqual([]);
    for (const count of balancer.counts()) expect(count).toBeGreaterThan(1);
    return report;
  };

  it('MCP-S74: serve the package of the tasks extension: each outcome, a question, a cancel, a task that is taken up again', async () => {
    const { seen, methods } = await run('mcp-tasks-process');
    expect(seen).toEqual({
      kinds: ['task', 'task', 'task', 'immediate'],
      state: 'completed',
      talked: [{ of: 'sky', colour: 'blue', by: 'mcp-tasks-process-auto' }, false],
      cancelled: 'cancelled',
      resumed: 'completed',
      refused: true,
      unknown: expect.stringContaining('Task not found') as unknown,
    });
    expect(methods).toEqual([
      ...['server/discover', 'tasks/cancel', 'tasks/get', 'tasks/update', 'tools/call', 'tools/list'],
    ]);
  });

  const runTools = ['start_run', 'run_status', 'wait_for_run', 'signal_run', 'cancel_run'];
  it.each(['auto', 'legacy'] as const)(
    'serve the official client, which knows no tasks: the tools of skills and those for runs (%s)',
    async (mode) => {
      const { seen, methods } = await run('mcp-client-process', mode);
      const by = `mcp-client-process-${mode}`;
      expect(seen).toEqual({
        tools: ['talk', 'listen', 'work', ...runTools],
        // It is asked in answer to its call; by `initialize` clients are not asked, and have a handle.
        talked: mode === 'auto' ? { of: 'sky', colour: 'blue', by } : 'input_required',
        isSame: true,
        asking: 'input_required',
        done: { of: 'sea', colour: 'green', by },
        cancelled: 'cancelled',
        status: 'completed',
        unknown: true,
      });
      expect(methods).toContain(mode === 'auto' ? 'server/discover' : 'initialize');
    },
  );

  it('serve the official SDK of 2025-11-25, with its tasks, and each reply in its own types', async () => {
    const { seen, methods } = await run('mcp-sdk-process');
    expect(seen).toEqual({
      tools: [
        ...['talk', 'listen', 'work'].map((name) => [name, 'optional']),
        ...runTools.map((name) => [name, undefined]),
      ].map((row) => JSON.parse(JSON.stringify(row)) as unknown),
      working: 'working',
      result: { of: 'sky', colour: 'blue', by: 'mcp-sdk-process-auto' },
      done: 'completed',
      cancelled: 'cancelled',
      again: -32602,
    });
    expect(methods).toEqual(
      expect.arrayContaining([
        'initialize',
        'ping',
        'tasks/cancel',
        'tasks/get',
        'tasks/result',
        'tools/call',
        'tools/list',
      ]),
    );
  });
});

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { examine, type DoctorOptions } from '../../../lib/local/doctor.js';
import { lockFolder } from '../../../lib/local/folder-lock.js';
import { openStateFolder } from '../../../lib/local/state-folder.js';
import { runCli } from './dev-process.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-doctor-test-'));
  await writeFile(
    join(folder, 'outwait.config.ts'),
    `import { defineApp, defineWorkflow, mcpServer, secret } from 'outwait';
     const idle = defineWorkflow({ name: 'idle', run: async () => null });
     const auth = { bearer: secret('REPORTS_TOKEN'), headers: { 'x-key': secret('REPORTS_KEY'), 'x-plain': 'y' } };
     export default defineApp({ workflows: [idle], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', auth }) } });`,
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const look = async (options: Partial<DoctorOptions> = {}) => {
  const findings = await examine({
    port: 0,
    configFile: join(folder, 'outwait.config.ts'),
    stateFolder: join(folder, '.outwait'),
    nodeVersion: '20.20.0',
    environment: { REPORTS_TOKEN: 'canary', REPORTS_KEY: 'canary' },
    ...options,
  });
  return Object.fromEntries(findings.map(({ check, ok, text }) => [check, `${ok ? 'ok' : 'problem'}: ${text}`]));
};

describe('a look at local mode', () => {
  it('finds nothing wrong, and changes nothing', async () => {
    const found = await look();
    expect(found).toMatchObject({
      node: 'ok: 20.20.0',
      configuration: 'ok: 1 workflow, 1 server',
      secrets: 'ok: REPORTS_TOKEN, REPORTS_KEY set',
      port: 'ok: a free port will be used',
      state: `ok: ${join(folder, '.outwait')} does not exist yet; it will be created`,
    });
    expect(found['database']).toMatch(/^ok: dynoxide /);
    expect(JSON.stringify(found)).not.toContain('canary');
    expect(await readdir(folder)).toEqual(['outwait.config.ts']);
  });

  it.each(['18.20.0', '20.18.9'])('refuses Node %s', async (nodeVersion) => {
    expect((await look({ nodeVersion }))['node']).toBe(`problem: ${nodeVersion}; 20.19 or newer is needed`);
  });

  it('names the secrets that are missing or empty', async () => {
    expect((await look({ environment: { REPORTS_KEY: '' } }))['secrets']).toBe(
      'problem: not in the environment: REPORTS_TOKEN, REPORTS_KEY',
    );
  });

  it('names the secrets that AWS keeps, and does not ask for them', async () => {
    await writeFile(
      join(folder, 'outwait.config.ts'),
      `import { defineApp, mcpServer, secretsManager, ssmParameter } from 'outwait';
       const auth = { bearer: secretsManager('prod/reports'), headers: { 'x-key': ssmParameter('/prod/key') } };
       export default defineApp({ workflows: [], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', auth }) } });`,
    );
    expect((await look())['secrets']).toBe('ok: kept by AWS, not checked: prod/reports, /prod/key');
  });

  it('goes on after a configuration that cannot be loaded', async () => {
    const configFile = join(folder, 'missing.ts');
    const found = await look({ configFile });
    expect(found['configuration']).toBe(`problem: there is no configuration at ${configFile}`);
    expect(found).not.toHaveProperty('secrets');
    expect(found['port']).toMatch(/^ok/);
  });

  it('finds a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const found = await look({ port });
    taken.close();
    expect(found['port']).toBe(
      `problem: ${port} is in use; choose another with --port, or stop the process that uses it`,
    );
  });

  it('finds a folder in use, and one of a newer version', async () => {
    const stateFolder = join(folder, '.outwait');
    await openStateFolder(stateFolder);
    expect((await look())['state']).toBe(`ok: ${stateFolder} has format 1 and is not in use`);
    await lockFolder(stateFolder);
    expect((await look())['state']).toBe(
      `problem: ${stateFolder} is in use by an outwait dev (process ${process.pid})`,
    );
    const newer = join(folder, 'newer');
    await mkdir(newer);
    await writeFile(join(newer, 'format.json'), '{"format":"outwait-state","version":9}');
    expect((await look({ stateFolder: newer }))['state']).toContain('problem: ');
    expect((await look({ stateFolder: newer }))['state']).toContain('was written by a newer version of outwait');
  });
});

it('outwait doctor prints a line for each check and ends with 1 on a problem', async () => {
  const bad = await runCli(['doctor', '--port', '0'], { cwd: folder, env: { REPORTS_TOKEN: '', REPORTS_KEY: 'x' } });
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/^ok {7}configuration {2}1 workflow, 1 server$/m);
  expect(bad.stdout).toMatch(/^problem {2}secrets {8}not in the environment: REPORTS_TOKEN$/m);
  expect(bad.stdout.trim().split('\n')).toHaveLength(6);
  const good = await runCli(['doctor', '--port', '0', '--json'], {
    cwd: folder,
    env: { REPORTS_TOKEN: 'x', REPORTS_KEY: 'x' },
  });
  expect(good.code).toBe(0);
  expect((JSON.parse(good.stdout) as { findings: unknown[] }).findings).toHaveLength(6);
});

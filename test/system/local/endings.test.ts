import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { findDynoxide } from '../../../lib/local/dynoxide.js';
import { processOf } from '../../../lib/local/process-identity.js';
import { anAppFolder } from './dev-process.js';

const bin = fileURLToPath(new URL('../../../bin/outwait.js', import.meta.url));

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** Runs a line of bash, in which `outwait` is the command line, to its end. */
async function bash(line: string, cwd = '/'): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn('bash', ['-c', `outwait() { exec ${process.execPath} ${bin} "$@"; }; ${line}`], {
    cwd,
    detached: true,
  });
  // A test that fails leaves no process behind.
  cleanUps.push(async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}

/** Serves an engine whose run has one event, and then nothing more for as long as anyone asks. */
async function aQuietEngine(): Promise<{ url: string; asked: Promise<void> }> {
  let onAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const server: Server = createServer((request, response) => {
    const after = new URL(request.url ?? '/', 'http://x').searchParams.get('after');
    if (after !== '0') {
      onAsked();
      return;
    }
    const event = { type: 'RunStarted', seq: 1, atMs: 0, workflow: 'w', version: '1', behaviors: 1 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ events: [event], progress: [], status: 'running', nextAfter: 1 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

describe.runIf(process.platform === 'linux')('a closed output (F45)', () => {
  it.runIf(findDynoxide() !== undefined)(
    'ends outwait dev and its database, though nothing more is written',
    async () => {
      const app = await anAppFolder();
      cleanUps.push(() => app.remove());
      const { out, err } = await bash('outwait dev --port 0 | head -n 1; echo "code ${PIPESTATUS[0]}"', app.folder);
      expect(out).toMatch(/^outwait dev ready .*\ncode 141\n$/);
      expect(err).toBe('');
      const { pid } = JSON.parse(await readFile(join(app.folder, '.outwait/database.json'), 'utf8')) as { pid: number };
      expect(processOf(pid)).toBeUndefined();
    },
  );

  it('ends a command that waits for more', async () => {
    const { url } = await aQuietEngine();
    const line = `outwait watch ${'0'.repeat(32)} --url ${url} | head -n 1; echo "code \${PIPESTATUS[0]}"`;
    expect(await bash(line)).toEqual({
      code: 0,
      out: '1970-01-01T00:00:00.000Z  run started: w (version 1)\ncode 141\n',
      err: '',
    });
  });

  it('ends a command that writes, without a stack', async () => {
    const { url } = await aQuietEngine();
    const line = `outwait watch ${'0'.repeat(32)} --url ${url} | true; echo "code \${PIPESTATUS[0]}"`;
    expect(await bash(line)).toEqual({ code: 0, out: 'code 141\n', err: '' });
  });
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends a command that waits (F45)', async (signal) => {
  const { url, asked } = await aQuietEngine();
  const child = spawn(process.execPath, [bin, 'watch', '0'.repeat(32), '--url', url], { stdio: 'ignore' });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_, by) => {
      resolve(by);
    }),
  );
  await asked;
  child.kill(signal);
  expect(await ended).toBe(signal);
});

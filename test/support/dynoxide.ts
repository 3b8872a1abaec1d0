// A DynamoDB stand-in as a child process: one static binary, on Linux x64 from npm.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';

const binary = fileURLToPath(new URL('../../node_modules/@dynoxide/linux-x64/dynoxide', import.meta.url));
const isThere = existsSync(binary);
const isExpected = process.platform === 'linux' && process.arch === 'x64';

/**
 * A `describe` whose tests need the binary: they fail where it should be installed, and are skipped with a notice
 * elsewhere.
 */
export function describeWithDynoxide(name: string, body: () => void): void {
  if (isThere) {
    describe(name, body);
  } else if (isExpected) {
    describe(name, () => {
      it('finds the dynoxide binary', () => {
        throw new Error(`${binary} is missing: run npm ci with optional dependencies`);
      });
    });
  } else {
    process.stderr.write(`\nNOT TESTED on ${process.platform}-${process.arch}, there is no dynoxide for it: ${name}\n`);
    // Reported as skipped, not as passed: this platform has no such binary.
    describe.skip(name, body);
  }
}

export interface Dynoxide {
  readonly endpoint: string;
  readonly pid: number;
  /** Ends it and waits until it has ended; `SIGKILL` simulates a crash. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts a stand-in that is ready for requests, on a free port. In memory unless `dbPath` names a file. */
export async function startDynoxide(options: { readonly dbPath?: string } = {}): Promise<Dynoxide> {
  // Another process can take a port between our choice of a free one and the start.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const args = ['--port', String(port), ...(options.dbPath === undefined ? [] : ['--db-path', options.dbPath])];
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const problem = await listening(child);
    if (problem === undefined) return running(child, port);
    if (attempt === 5) throw new Error(`dynoxide does not start: ${problem}`);
  }
}

function running(child: ChildProcess, port: number): Dynoxide {
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    async stop(signal = 'SIGTERM') {
      process.off('exit', killNow);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      await ended;
    },
  };
}

/** Resolves with undefined once it has bound its port, which it then prints, or with its output if it ends. */
async function listening(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = '';
    const hear = (data: Buffer) => {
      said += data.toString();
      if (said.includes('listening on')) resolve(undefined);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('close', () => {
      resolve(said);
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { closedPort } from '../../unit/remote/loopback.js';

export interface ServerProcess {
  readonly url: string;
  end(): Promise<void>;
}

const require = createRequire(import.meta.url);
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Starts the server on the official SDK that is in this folder. */
export async function startModernServer(): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', at('mcp-modern-process.ts')], { stdio: 'pipe' });
  return { url: await firstLine(child, child.stdout), end: () => end(child) };
}

/** Starts local mode with the tools of the conformance suite, which are workflows. */
export async function startServedWorkflows(): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', at('mcp-served-process.ts')], { stdio: 'pipe' });
  return { url: await firstLine(child, child.stdout), end: () => end(child) };
}

/** Starts a server without tasks on the official SDK, with tools for a job. */
export async function startJobServer(): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', at('mcp-jobs-process.ts')], { stdio: 'pipe' });
  return { url: await firstLine(child, child.stdout), end: () => end(child) };
}

/** Starts the reference server of the protocol: MCP 2025-11-25 with sessions and tasks, on the first SDK. */
export async function startEverythingServer(): Promise<ServerProcess> {
  const port = await closedPort();
  const program = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    stdio: 'pipe',
    env: { ...process.env, PORT: String(port) },
  });
  // The server writes this line to stderr once it listens, and everything else to stdout.
  await firstLine(child, child.stderr);
  child.stdout.resume();
  return { url: `http://127.0.0.1:${port}/mcp`, end: () => end(child) };
}

async function firstLine(child: ChildProcess, output: NodeJS.ReadableStream): Promise<string> {
  return Promise.race([
    once(createInterface(output), 'line').then(([line]) => String(line)),
    once(child, 'exit').then(() => {
      throw new Error('the server ended before it listened');
    }),
  ]);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

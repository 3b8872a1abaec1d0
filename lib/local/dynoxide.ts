import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { isProcessOf, isRunning, type ProcessIdentity, processOf } from './process-identity.js';
import { writeWhole } from './state-folder.js';

const readyMaxMs = 10_000;
const stopMaxMs = 5_000;
const restartsMax = 5;
const restartPauseMs = 200;
const restartsForgottenMs = 60_000;

export interface Dynoxide {
  readonly endpoint: string;
  stop(): Promise<void>;
}

export interface DynoxideOptions {
  readonly binary: string;
  /** Absolute path. */
  readonly databaseFile: string;
  /**
   * File for `{ "pid": …, "start": …, "port": … }` of the process: identifies a database that a killed parent left
   * running.
   */
  readonly recordFile: string;
  readonly log: Log;
  /** Longest wait until the database accepts connections; default 10,000. */
  readonly readyMaxMs?: number;
  /** Called when the database has exited too often and is not started again. */
  readonly onLost: (error: EngineError) => void;
}

/**
 * Returns the path of the DynamoDB-compatible database: of its npm package, or of a program of that name on the PATH.
 */
export function findDynoxide(): string | undefined {
  const program = process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide';
  try {
    const packageFile = createRequire(import.meta.url).resolve(
      `@dynoxide/${process.platform}-${process.arch}/package.json`,
    );
    const binary = join(dirname(packageFile), program);
    if (existsSync(binary)) return binary;
  } catch {
    // The optional dependency is not installed, or not available for this platform.
  }
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file));
}

/** Returns name and version, such as `dynoxide 1.2.1`. */
export function dynoxideVersion(binary: string): string {
  try {
    return execFileSync(binary, ['--version'], { encoding: 'utf8', timeout: readyMaxMs }).trim();
  } catch {
    throw new EngineError('CONFIG_INVALID', `${binary} cannot be run; use --store memory`);
  }
}

/**
 * Runs the database on one file, for this machine only, and restarts it if it exits. The caller must hold the lock on
 * the folder: two of these processes would open the same file without an error.
 */
export async function startDynoxide(options: DynoxideOptions): Promise<Dynoxide> {
  await endLeftOver(options);
  const port = await freePort();
  let child = await launch(options, port);
  let stopping = false;
  let restarts = 0;
  let restarting: Promise<void> = Promise.resolve();

  const watch = (): void => {
    const startedAtMs = performance.now();
    child.once('exit', (code, signalName) => {
      if (stopping) return;
      options.log.error('database exited', { code, signal: signalName });
      if (performance.now() - startedAtMs > restartsForgottenMs) restarts = 0;
      restarting = restart();
    });
  };
  const restart = async (): Promise<void> => {
    while (restarts < restartsMax) {
      restarts += 1;
      await sleep(restartPauseMs);
      // A stop may be requested during each pause.
      if (isStopping()) return;
      try {
        child = await launch(options, port);
        if (!isStopping()) watch();
        return;
      } catch (error) {
        options.log.error('database did not start', { error });
      }
    }
    options.onLost(new EngineError('STORE_UNAVAILABLE', 'the database keeps exiting; see the log for the reason'));
  };
  const isStopping = (): boolean => stopping;
  watch();
  // Last resort for an exit without a stop.
  const killNow = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', killNow);

  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop: async () => {
      stopping = true;
      process.off('exit', killNow);
      // A database that is being restarted must be stopped too.
      await restarting;
      await end(child);
    },
  };
}

/**
 * Stops the database that a killed parent left running: only the recorded process, and only if it still is this program
 * on this file. Other processes that have the file open are not touched.
 */
async function endLeftOver({ binary, databaseFile, recordFile, log }: DynoxideOptions): Promise<void> {
  const left = recordedIn(recordFile);
  if (left === undefined || !isRunning(left) || !isProcessOf(left.pid, binary, databaseFile)) return;
  log.warn('stopping a database that a killed process left running', { pid: left.pid });
  signal(left.pid, 'SIGTERM');
  const lastResort = setTimeout(() => {
    signal(left.pid, 'SIGKILL');
  }, stopMaxMs);
  while (isRunning(left)) await sleep(20);
  clearTimeout(lastResort);
}

function recordedIn(recordFile: string): ProcessIdentity | undefined {
  try {
    const { pid, start } = JSON.parse(readFileSync(recordFile, 'utf8')) as { pid?: unknown; start?: unknown };
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined;
  } catch {
    // No database was started yet.
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended meanwhile.
  }
}

async function launch(options: DynoxideOptions, port: number): Promise<ChildProcess> {
  const child = spawn(
    options.binary,
    ['--host', '127.0.0.1', '--port', String(port), '--db-path', options.databaseFile],
    {
      stdio: 'ignore',
      // Ctrl-C in the terminal must reach the parent only, which needs the database for a clean stop.
      detached: true,
    },
  );
  const ended = new Promise<never>((_, reject) => {
    child.once('error', () => {
      reject(new EngineError('CONFIG_INVALID', `${options.binary} cannot be run; use --store memory`));
    });
    child.once('exit', (code, signalName) => {
      reject(new EngineError('STORE_UNAVAILABLE', `the database exited at start (${code ?? signalName ?? 'unknown'})`));
    });
  });
  ended.catch(() => undefined);
  try {
    // Recorded before the database is ready: if this process is killed meanwhile, the next one finds the database.
    const identity = child.pid === undefined ? undefined : processOf(child.pid);
    if (identity !== undefined) await writeWhole(options.recordFile, JSON.stringify({ ...identity, port }));
    await Promise.race([answers(port, options.readyMaxMs ?? readyMaxMs), ended]);
    return child;
  } catch (error) {
    await end(child);
    throw error;
  }
}

async function answers(port: number, maxMs: number): Promise<void> {
  const deadlineAtMs = performance.now() + maxMs;
  while (!(await accepts(port))) {
    if (performance.now() > deadlineAtMs)
      throw new EngineError('STORE_UNAVAILABLE', `the database did not answer within ${maxMs} ms`);
    await sleep(10);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  // Without a pid the process never started.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  child.kill('SIGTERM');
  const lastResort = setTimeout(() => child.kill('SIGKILL'), stopMaxMs);
  await exited;
  clearTimeout(lastResort);
}

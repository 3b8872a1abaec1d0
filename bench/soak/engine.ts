import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isRunning, type ProcessIdentity, processOf, processesWithArgument } from '../../lib/local/process-identity.js';
import { peakMiB } from '../process-usage.js';

const bin = fileURLToPath(new URL('../../bin/outwait.js', import.meta.url));
const configFile = fileURLToPath(new URL('app/outwait.config.ts', import.meta.url));

const readyMaxMs = 60_000;
const stopMaxMs = 30_000;
const memoryReadMs = 200;

/** The life of one engine process, from its start to its end. */
export interface Life {
  readonly number: number;
  /** Milliseconds from its start to its ready line. */
  readonly readyMs: number;
  readonly end: string;
  readonly livedMs: number;
  /** Peak resident memory; undefined if the system does not report it. */
  readonly engineMiB: number | undefined;
  readonly databaseMiB: number | undefined;
}

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly url: string;
  readonly database: ProcessIdentity & { readonly port: number };
  readonly startedAtMs: number;
  readonly readyMs: number;
  readonly memory: Memory;
}

/** `outwait dev` as a separate process on one folder, with its database process, through several lives. */
export class Engine {
  readonly lives: Life[] = [];
  /** Instants at which it was killed. */
  readonly crashesAtMs: number[] = [];
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  #running: Running | undefined;
  #child: ChildProcess | undefined;
  readonly #whenUp: (() => void)[] = [];

  readonly #onDeath: (what: string) => void;

  /** Calls `onDeath` when the process ends without having been asked to. */
  constructor(folder: string, env: Readonly<Record<string, string>>, onDeath: (what: string) => void) {
    this.#folder = folder;
    this.#env = env;
    this.#onDeath = onDeath;
  }

  get stateFolder(): string {
    return join(this.#folder, 'state');
  }

  get databaseFile(): string {
    return join(this.stateFolder, 'dynamodb.sqlite');
  }

  get logFile(): string {
    return join(this.#folder, 'engine.log');
  }

  /** Returns the URL of the running engine; waits while none is running. */
  async url(): Promise<string> {
    while (this.#running === undefined) await new Promise<void>((resolve) => this.#whenUp.push(resolve));
    return this.#running.url;
  }

  get databaseEndpoint(): string | undefined {
    return this.#running === undefined ? undefined : `http://127.0.0.1:${this.#running.database.port}`;
  }

  async start(): Promise<void> {
    const startedAtMs = Date.now();
    const log = openSync(this.logFile, 'a');
    const child = spawn(
      process.execPath,
      [bin, 'dev', '--port', '0', '--config', configFile, '--state', this.stateFolder, '--log-level', 'warn'],
      { stdio: ['ignore', 'pipe', log], env: { ...process.env, ...this.#env } },
    );
    closeSync(log);
    this.#child = child;
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => {
        resolve(code);
      });
    });
    const url = await readyUrl(child, exited, this.logFile);
    const database = databaseOf(this.stateFolder, child);
    const memory = new Memory(child.pid ?? 0, database.pid);
    const running = { child, exited, url, database, startedAtMs, readyMs: Date.now() - startedAtMs, memory };
    this.#running = running;
    void exited.then((code) => {
      if (this.#running === running)
        this.#onDeath(`the engine ended by itself (${code ?? 'a signal'}), see ${this.logFile}`);
    });
    for (const tell of this.#whenUp.splice(0)) tell();
  }

  /** Kills engine and database together, as a crash of the machine would, and returns when both are gone. */
  async crash(moment: string): Promise<void> {
    const running = this.#takeRunning();
    running.memory.read();
    this.crashesAtMs.push(Date.now());
    process.kill(running.child.pid ?? 0, 'SIGKILL');
    process.kill(running.database.pid, 'SIGKILL');
    await running.exited;
    while (isRunning(running.database)) await delay(5);
    this.#note(running, `kill -9 ${moment}`);
  }

  /** Asks the engine to stop, and returns what was wrong with its end. */
  async stop(): Promise<string[]> {
    const running = this.#takeRunning();
    running.memory.read();
    running.child.kill('SIGTERM');
    const code = await Promise.race([running.exited, delay(stopMaxMs, 'late' as const, { ref: false })]);
    this.#note(running, 'stopped');
    const left = processesWithArgument(this.databaseFile);
    return [
      ...(code === 0 ? [] : [`the engine ended with ${code ?? 'a signal'} on SIGTERM`]),
      ...(isRunning(running.database) || left.length > 0 ? [`the database is still running (${left.join(', ')})`] : []),
    ];
  }

  /** Kills everything as a last resort: no process that was started here may outlive the driver. */
  killAll(): void {
    this.#running = undefined;
    this.#child?.kill('SIGKILL');
    for (const pid of processesWithArgument(this.databaseFile)) process.kill(pid, 'SIGKILL');
  }

  #takeRunning(): Running {
    const running = this.#running;
    if (running === undefined) throw new Error('the engine is not running');
    this.#running = undefined;
    return running;
  }

  #note({ startedAtMs, readyMs, memory }: Running, end: string): void {
    memory.stop();
    this.lives.push({
      number: this.lives.length + 1,
      readyMs,
      end,
      livedMs: Date.now() - startedAtMs,
      engineMiB: memory.engineMiB,
      databaseMiB: memory.databaseMiB,
    });
  }
}

async function readyUrl(child: ChildProcess, exited: Promise<number | null>, logFile: string): Promise<string> {
  let said = '';
  const url = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout?.on('data', (data: Buffer) => {
        said += data.toString();
        const found = /^outwait dev ready at (http:\S+)/m.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
    }),
    exited.then((code) => Promise.reject(new Error(`outwait dev ended with ${code ?? 'a signal'}, see ${logFile}`))),
    delay(readyMaxMs, undefined, { ref: false }),
  ]);
  if (url === undefined) throw new Error(`outwait dev was not ready within ${readyMaxMs} ms, see ${logFile}`);
  return url;
}

/** Finds the database that this engine process has started. */
function databaseOf(stateFolder: string, engine: ChildProcess): Running['database'] {
  const { pid, port } = JSON.parse(readFileSync(join(stateFolder, 'database.json'), 'utf8')) as {
    pid: number;
    port: number;
  };
  const identity = processOf(pid);
  if (identity === undefined) throw new Error(`the database of engine ${engine.pid ?? '?'} is not running`);
  return { ...identity, port };
}

/** Peak memory of the two processes, which can be read only while they live. */
class Memory {
  engineMiB: number | undefined;
  databaseMiB: number | undefined;
  readonly #engine: number;
  readonly #database: number;
  readonly #timer: NodeJS.Timeout;

  constructor(engine: number, database: number) {
    this.#engine = engine;
    this.#database = database;
    this.#timer = setInterval(() => {
      this.read();
    }, memoryReadMs).unref();
  }

  read(): void {
    this.engineMiB = peakMiB(this.#engine) ?? this.engineMiB;
    this.databaseMiB = peakMiB(this.#database) ?? this.databaseMiB;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

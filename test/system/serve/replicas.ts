import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { defined } from '../../../lib/base/defined.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { addKey } from '../../../lib/operations/requests/manage-keys.js';
import { system } from '../../../lib/process/system.js';
import { silentLog } from '../../../lib/base/log.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { openDynamoDbTable } from '../../support/dynamodb-tables.js';
import { type Dynoxide, startDynoxide } from '../../support/dynoxide.js';
import { bundleProgram, type Program } from '../processes.js';
import { type Dispatcher, startDispatcher } from './dispatcher.js';
import type { Death, ReplicaOptions } from './replica-process.js';

export const managementToken = 'canary-management-token-of-replicas';

/** A process that serves. */
export interface Replica {
  readonly url: string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  readonly isAlive: () => boolean;
  /** What it has reported as a warning or an error. */
  readonly complaints: () => string;
  kill(): Promise<void>;
}

/** Processes over one table in one database and its queues, and the keys with which clients call them. */
export class Replicas {
  readonly list: Replica[] = [];
  readonly store: RunStore;
  readonly #database: Dynoxide;
  readonly #program: Program;
  readonly #opened: Awaited<ReturnType<typeof openDynamoDbTable>>;
  readonly #started: Replica[] = [];
  /** Set before the first replica is started. */
  #dispatcher: Dispatcher | undefined;

  private constructor(database: Dynoxide, program: Program, opened: Awaited<ReturnType<typeof openDynamoDbTable>>) {
    this.#database = database;
    this.#program = program;
    this.#opened = opened;
    this.store = new RunStore(opened.table);
  }

  /** Starts a database, and `count` replicas on it. */
  static async start(count: number): Promise<Replicas> {
    const [database, program] = await Promise.all([startDynoxide(), bundleProgram('serve/replica-process')]);
    const replicas = new Replicas(database, program, await openDynamoDbTable(database.endpoint, tableName));
    replicas.#dispatcher = await startDispatcher(() => replicas.#started.toReversed());
    replicas.list.push(...(await Promise.all(Array.from({ length: count }, () => replicas.add()))));
    return replicas;
  }

  get urls(): readonly string[] {
    return this.list.map(({ url }) => url);
  }

  /** Starts one more replica, which may have to die. Turns are run by the one that was started last, while it lives. */
  async add(death?: Death): Promise<Replica> {
    const { endpoint } = this.#database;
    const queueUrl = this.#dispatcher!.url;
    const options: ReplicaOptions = { endpoint, tableName, managementToken, queueUrl, ...defined({ death }) };
    const replica = await startReplica(this.#program, options);
    this.#started.push(replica);
    return replica;
  }

  /** Makes a named key with the role `call`, and returns it. */
  async keyOf(name: string): Promise<string> {
    const deps = { ...system, store: this.store, log: silentLog } as Deps;
    return (await addKey(deps, { name, roles: ['call'] })).key;
  }

  /** Finds what is due and has no message, as a schedule does each minute. */
  async sweep(): Promise<void> {
    await this.#dispatcher!.sweep();
  }

  /** Resolves when no turn is under way. */
  async idle(): Promise<void> {
    await this.#dispatcher!.idle();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#started.map((replica) => replica.kill()));
    await this.#dispatcher?.stop();
    this.#opened.client.destroy();
    await this.#program.remove();
    await this.#database.stop();
  }
}

const tableName = 'served';

async function startReplica({ path }: Program, options: ReplicaOptions): Promise<Replica> {
  const child = spawn(process.execPath, [path, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
  });
  let complaints = '';
  child.stderr.on('data', (data: Buffer) => (complaints += data.toString()));
  const ended = once(child, 'exit');
  const url = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => String(line)),
    ended.then(() => {
      throw new Error(`a replica does not start: ${complaints}`);
    }),
  ]);
  const isAlive = (): boolean => isRunning(child);
  return {
    url,
    ended,
    isAlive,
    complaints: () => complaints,
    kill: async () => {
      if (isAlive()) child.kill('SIGKILL');
      await ended;
    },
  };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

import { randomUUID } from 'node:crypto';
import type { FunctionSpec } from './functions.js';
import { type InvocationResult, type OnPart, Replica } from './replica.js';

export interface LambdaOptions {
  readonly functions: readonly FunctionSpec[];
  /** Execution environments of each function; further invocations wait. */
  readonly replicas: number;
  /** `replica-process.ts` as JavaScript. */
  readonly program: string;
  /** Returns the variables of a replica besides those of its function. */
  readonly environmentOf: (spec: FunctionSpec, replicaName: string) => Readonly<Record<string, string>>;
  readonly onOutput: (spec: FunctionSpec, replicaName: string, line: string) => void;
}

/** Runs the functions of a stack, each in processes of its own. */
export class Lambda {
  readonly #options: LambdaOptions;
  readonly #pools: ReadonlyMap<string, Pool>;

  private constructor(options: LambdaOptions) {
    this.#options = options;
    const pools = options.functions.map((spec) => new Pool(spec, options));
    this.#pools = new Map(pools.flatMap((pool) => pool.spec.references.map((reference) => [reference, pool])));
  }

  /** Starts with all replicas loaded. */
  static async start(options: LambdaOptions): Promise<Lambda> {
    const lambda = new Lambda(options);
    try {
      await Promise.all(lambda.#all().map((pool) => pool.fill()));
    } catch (error) {
      await lambda.stop();
      throw error;
    }
    return lambda;
  }

  get replicas(): number {
    return this.#options.replicas;
  }

  /** Returns the function with that reference. @throws Error if there is none */
  specOf(reference: string): FunctionSpec {
    return this.#poolOf(reference).spec;
  }

  /** Invokes a function by the name or ARN of it or of an alias; `onPart` takes what it streams. @throws Error if there is none */
  invoke(reference: string, event: unknown, onPart: OnPart = nowhere): Promise<InvocationResult> {
    return this.#poolOf(reference).invoke(event, onPart);
  }

  /** Returns the names of the replicas of a function that have been invoked. */
  servedBy(functionName: string): readonly string[] {
    return this.#all().flatMap(({ spec, served }) => (spec.name === functionName ? [...served] : []));
  }

  /** Kills one replica, in the middle of whatever it does. */
  async kill(replicaName: string): Promise<void> {
    await Promise.all(this.#all().map((pool) => pool.kill(replicaName)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((pool) => pool.stop()));
  }

  #all(): readonly Pool[] {
    return [...new Set(this.#pools.values())];
  }

  #poolOf(reference: string): Pool {
    const pool = this.#pools.get(reference);
    if (pool === undefined) throw new Error(`there is no function ${reference}`);
    return pool;
  }
}

const nowhere: OnPart = () => undefined;

/** The replicas of one function. They take turns, so that what one of them keeps warm is rarely useful to it. */
class Pool {
  readonly spec: FunctionSpec;
  readonly served = new Set<string>();
  readonly #options: LambdaOptions;
  /** Frozen replicas, the one that has rested longest first. */
  readonly #free: Replica[] = [];
  readonly #busy = new Set<Replica>();
  /** Number of replicas that are busy or being started for an invocation. */
  #taken = 0;
  #started = 0;
  readonly #waiting: (() => void)[] = [];
  #isStopped = false;

  constructor(spec: FunctionSpec, options: LambdaOptions) {
    this.spec = spec;
    this.#options = options;
  }

  async fill(): Promise<void> {
    const started = Array.from({ length: this.#options.replicas }, async () => {
      this.#free.push(await this.#start());
    });
    await Promise.all(started);
  }

  async invoke(event: unknown, onPart: OnPart): Promise<InvocationResult> {
    while (this.#taken >= this.#options.replicas) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#taken += 1;
    try {
      return await this.#invokeOne(event, onPart);
    } finally {
      this.#taken -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #invokeOne(event: unknown, onPart: OnPart): Promise<InvocationResult> {
    let replica: Replica;
    try {
      replica = await this.#next();
    } catch (error) {
      return { ok: false, error: { errorType: 'Runtime.InitError', errorMessage: String(error) } };
    }
    this.#busy.add(replica);
    this.served.add(replica.name);
    const { functionName, version, arn, memoryMb, logGroup, timeoutMs } = this.spec;
    const context = {
      functionName,
      functionVersion: version,
      invokedFunctionArn: arn,
      memoryLimitInMB: String(memoryMb),
      logGroupName: logGroup,
      logStreamName: replica.name,
    };
    const invocation = { id: randomUUID(), event, deadlineAtMs: Date.now() + timeoutMs, context };
    const result = await replica.invoke(invocation, timeoutMs, onPart);
    this.#busy.delete(replica);
    this.#free.push(replica);
    return result;
  }

  /** Returns the replica that has rested longest, or a new one in its place if it has died. */
  async #next(): Promise<Replica> {
    if (this.#isStopped) throw new Error(`${this.spec.name} is gone`);
    const replica = this.#free.shift();
    return replica?.isAlive === true ? replica : this.#start();
  }

  #start(): Promise<Replica> {
    const { spec } = this;
    const { program, environmentOf, onOutput } = this.#options;
    const name = `${spec.name}-${++this.#started}`;
    return Replica.start({
      name,
      program,
      file: spec.file,
      handlerName: spec.handlerName,
      folder: spec.folder,
      memoryMb: spec.memoryMb,
      environment: { ...spec.environment, ...environmentOf(spec, name) },
      onOutput: (line) => {
        onOutput(spec, name, line);
      },
    });
  }

  async kill(replicaName: string): Promise<void> {
    const named = [...this.#free, ...this.#busy].filter(({ name }) => name === replicaName);
    await Promise.all(named.map((replica) => replica.kill()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#free, ...this.#busy].map((replica) => replica.kill()));
  }
}

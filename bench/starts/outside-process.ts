import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Order, Report, StartedRun, StartOrder } from './messages.js';

const program = fileURLToPath(new URL('outside-program.ts', import.meta.url));

/** A process of `outside-program.ts`, which obeys one order at a time. */
export class OutsideProcess {
  /** URL of its agents, without a path. */
  readonly origin: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.origin = origin;
  }

  static async open(): Promise<OutsideProcess> {
    const child = fork(program);
    const { port } = await reportOf(child, 'listening');
    return new OutsideProcess(child, `http://127.0.0.1:${port}`);
  }

  /** Starts runs, and returns when each of their calls has reached an agent of this process. */
  async start(order: Omit<StartOrder, 'kind'>): Promise<readonly StartedRun[]> {
    this.#order({ kind: 'start', ...order });
    return (await reportOf(this.#child, 'started')).runs;
  }

  /** Returns the number of starts that the patient agent has not answered. */
  async waiting(): Promise<number> {
    this.#order({ kind: 'count' });
    return (await reportOf(this.#child, 'counted')).waiting;
  }

  /** Makes the patient agent answer all that wait. */
  release(): void {
    this.#order({ kind: 'release' });
  }

  close(): void {
    this.#child.disconnect();
  }

  #order(order: Order): void {
    this.#child.send(order);
  }
}

/** Returns the next report, which must be of this kind. */
function reportOf<Kind extends Report['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<Report, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => {
      reject(new Error(`the process of the agents ended with ${code}`));
    };
    child.once('exit', ended);
    child.once('message', (report: Report) => {
      child.off('exit', ended);
      if (report.kind === kind) resolve(report as Extract<Report, { kind: Kind }>);
      else reject(new Error(`the process of the agents reported ${report.kind} instead of ${kind}`));
    });
  });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { JsonValue } from 'outwait';
import { type Bundles, writeBundles } from './bundles.js';

export interface Answer {
  readonly status: number;
  readonly body: JsonValue;
}

interface Result {
  readonly statusCode?: number;
  readonly body?: string;
}

const managementToken = 'canary-management-token-of-the-upgrade-test';

/** Environment of every deployment: its keys and tokens stay the same across upgrades. */
export const secretsOfAll = {
  OUTWAIT_TOKEN_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64url')}`,
  OUTWAIT_MANAGEMENT_TOKEN: managementToken,
};

/** The functions of some bundles in a process of their own. */
export class Deployment {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { readonly done: (result?: Result) => void; readonly lost: () => void }>();
  #requests = 0;
  #said = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the child must have pipes');
    createInterface({ input: stdout }).on('line', (line) => {
      if (!line.startsWith('>')) {
        this.#said += `${line}\n`;
        return;
      }
      const { id, result } = JSON.parse(line.slice(1)) as { readonly id: number; readonly result?: Result };
      this.#waiting.get(id)?.done(result);
      this.#waiting.delete(id);
    });
    stderr.on('data', (data: Buffer) => (this.#said += data.toString()));
    child.once('close', () => {
      for (const { lost } of this.#waiting.values()) lost();
    });
  }

  /** Starts a deployment whose bundles are written into `folder`. */
  static async start(options: {
    readonly program: string;
    readonly bundles: Bundles;
    readonly folder: string;
    readonly env: Readonly<Record<string, string>>;
  }): Promise<Deployment> {
    await writeBundles(options.bundles, options.folder);
    const child = spawn(process.execPath, [options.program, JSON.stringify({ folder: options.folder })], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', ...options.env },
      cwd: join(options.folder),
    });
    return new Deployment(child);
  }

  /** Everything that it has printed: its log. */
  get said(): string {
    return this.#said;
  }

  async request(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const http = { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' };
    const { statusCode = 0, body: text = 'null' } =
      (await this.#ask({
        event: {
          version: '2.0',
          rawPath: path,
          rawQueryString: '',
          headers: {
            host: 'api.example.com',
            authorization: `Bearer ${managementToken}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          requestContext: { http, domainName: 'api.example.com' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          isBase64Encoded: false,
        },
      })) ?? {};
    return { status: statusCode, body: JSON.parse(text) as JsonValue };
  }

  /** Advances the clock in one step, and sweeps. */
  async pass(advanceMs: number): Promise<void> {
    await this.#ask({ advanceMs });
  }

  /** Kills it in the middle of whatever it does. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await ended;
    }
  }

  #ask(request: object): Promise<Result | undefined> {
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      const lost = (): void => {
        reject(new Error(`the deployment has ended: ${this.#said}`));
      };
      this.#waiting.set(id, { done: resolve, lost });
      this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }
}

import * as z from 'zod';
import { EngineError } from '../../../../lib/base/errors.js';
import type { JsonObject } from '../../../../lib/base/json.js';
import { createA2aRoutes, type A2aOptions } from '../../../../lib/serve/a2a/routes.js';
import type { Timer } from '../../../../lib/serve/sse.js';
import { type AnyWorkflow, defineWorkflow } from '../../../../lib/workflow/define-workflow.js';
import type { ServeConfig } from '../../../../lib/workflow/serve.js';
import { type Script, ScriptedTasks } from '../../../support/scripted-tasks.js';

export const monthlyReport = defineWorkflow({
  name: 'monthlyReport',
  input: z.object({ month: z.string() }),
  run: () => Promise.resolve('done'),
});
export const triage = defineWorkflow({ name: 'triage', run: () => Promise.resolve('done') });
export const audit = defineWorkflow({ name: 'audit', run: () => Promise.resolve('done') });
export const workflows: ReadonlyMap<string, AnyWorkflow> = new Map(
  [monthlyReport, triage, audit].map((workflow) => [workflow.name, workflow]),
);

export const serve: ServeConfig = {
  agent: { name: 'Finance desk', description: 'Answers about money', url: 'https://flows.example.com' },
  skills: {
    monthlyReport: { description: 'Builds a report', tags: ['report'], examples: ['October, please'] },
    triage: { description: 'Takes any message', title: 'Triage' },
  },
  onMessage: 'triage',
};

/** Timers that fire when a test says so. */
export class HandTimers {
  readonly #open: { readonly delayMs: number; readonly fire: () => void }[] = [];

  #noticed: (() => void)[] = [];

  readonly timer: Timer = (delayMs, fire) => {
    const entry = { delayMs, fire };
    this.#open.push(entry);
    for (const notice of this.#noticed.splice(0)) notice();
    return () => {
      const at = this.#open.indexOf(entry);
      if (at >= 0) this.#open.splice(at, 1);
    };
  };

  /** Delays of the timers that are set. */
  get delays(): readonly number[] {
    return this.#open.map(({ delayMs }) => delayMs).sort((one, other) => one - other);
  }

  /** Fires a timer, once it is set. */
  async fire(delayMs: number): Promise<void> {
    while (!this.delays.includes(delayMs)) await new Promise<void>((resolve) => this.#noticed.push(resolve));
    const at = this.#open.findIndex((entry) => entry.delayMs === delayMs);
    const [entry] = at < 0 ? [] : this.#open.splice(at, 1);
    entry?.fire();
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export type Headers10 = Readonly<Record<string, string>>;

/** An agent over scripted tasks. The bearer token of a request is the name of its caller; without one it is alice. */
export function anAgent(script?: Script, more: Partial<A2aOptions> = {}) {
  const tasks = new ScriptedTasks(script);
  const timers = new HandTimers();
  const errors: unknown[] = [];
  const note = (event: string, fields?: Record<string, unknown>): void => void errors.push([event, fields]);
  const app = createA2aRoutes({
    serve,
    workflows,
    pushes: false,
    clock: { nowMs: () => tasks.nowMs },
    log: { debug: note, info: note, warn: note, error: note },
    timer: timers.timer,
    admit: (request) => {
      const owner = request.headers.get('authorization')?.replace('Bearer ', '') ?? 'alice';
      if (owner === 'nobody') throw new EngineError('UNAUTHORIZED', 'a valid bearer token is needed');
      return { tasks: tasks.of(owner) };
    },
    ...more,
  });
  const read = async (response: Response): Promise<Answered> => ({
    status: response.status,
    headers: response.headers,
    body: bodyIn(await response.text()),
  });
  /** Sends text as the body of a request to the JSON-RPC door. */
  const post = async (text: string, headers: Headers10 = {}, path = '/a2a') =>
    app.request(path, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    });
  const rpcResponse = async (method: string, params: unknown, headers?: Headers10, path?: string) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 'q1', method, params }), headers, path);
  return {
    app,
    tasks,
    timers,
    errors,
    post: async (text: string, headers?: Headers10) => read(await post(text, headers)),
    rpcResponse,
    rpc: async (method: string, params: unknown, headers?: Headers10, path?: string) =>
      read(await rpcResponse(method, params, headers, path)),
    rest: async (method: string, path: string, { body, headers = {} }: { body?: unknown; headers?: Headers10 } = {}) =>
      read(
        await app.request(`/a2a/rest${path}`, {
          method,
          headers: {
            'a2a-version': '1.0',
            ...(body === undefined ? {} : { 'content-type': 'application/a2a+json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
  };
}

let sent = 0;

/** Parameters of a message with one text. */
export function aMessage(
  text = 'hello',
  more: JsonObject = {},
  configuration: JsonObject = { returnImmediately: true },
) {
  return { message: { messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }], ...more }, configuration };
}

/** Reads a stream block by block. A comment, or what is told of the stream before its first event, is one of its own. */
export function blocksOf(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    /** Returns the next block, without the blank line after it; undefined at the end. */
    async next(): Promise<string | undefined> {
      for (;;) {
        const end = /^(?:(?::|retry:).*\n|[^]*?\n\n)/.exec(text)?.[0].length ?? 0;
        const block = text.slice(0, end).trimEnd();
        text = text.slice(end);
        if (end > 0) return block;
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
      }
    },
    async rest(): Promise<string[]> {
      const blocks: string[] = [];
      for (let block = await this.next(); block !== undefined; block = await this.next()) blocks.push(block);
      return blocks;
    },
    leave: () => reader.cancel(),
  };
}

/** Returns the JSON of a block; undefined for one without data. */
export function dataOf(block: string | undefined): JsonObject | undefined {
  const line = (block ?? '').split('\n').find((each) => each.startsWith('data: '));
  return line === undefined ? undefined : (JSON.parse(line.slice('data: '.length)) as JsonObject);
}

/** Reads a body of JSON, or the first event of a stream: that is where a method of 0.3 that streams tells an error. */
function bodyIn(text: string): JsonObject {
  const data = /^data: (.*)$/m.exec(text)?.[1];
  try {
    return JSON.parse(data ?? text) as JsonObject;
  } catch {
    return {};
  }
}

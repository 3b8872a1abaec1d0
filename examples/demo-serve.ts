import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { CallerResult } from './demo/caller.js';
import { Children } from './demo/child.js';
import { crash, freePort, startDevEngine } from './demo/engine.js';
import { runOnStage, type Stage } from './demo/on-stage.js';
import { problemsOfServed, stepsIn } from './demo/served-verdict.js';

// `npm run demo:serve`: a workflow is served as a skill of an A2A agent. Another process calls it with the official
// client, answers its question and receives its artifact in pieces; in the midst of that the engine and its database are
// killed with SIGKILL and started again. Exits with 0 if the caller has everything once. `--store memory` uses the
// engine's own store in place of a database process.

/** How long the engine is down. */
const downMs = 1_000;
/** Time for the engine to come to rest after a piece, so that the crash meets a workflow that waits. */
const restMs = 400;
const untilAsideMs = 60_000;

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const { values } = parseArgs({ options: { store: { type: 'string' } } });

async function demo({ children, folder, say, signal }: Stage): Promise<readonly string[]> {
  const port = await freePort();
  const options = { config: at('served-report/outwait.config.ts'), folder, port, store: values.store };

  say('1. The engine, as "outwait dev" runs it on a laptop. It serves a workflow as a skill of an A2A agent.');
  const first = await startDevEngine(children, options, signal);
  say(`   ${first.process.readyLine}`);
  say(`   card: ${first.url}/.well-known/agent-card.json`);
  say();

  say('2. Another process calls the skill with the official client of A2A. It knows nothing of outwait.');
  const heard = new Lines((line) => {
    if (!/^(ready|result )/.test(line)) say(`   caller   ${line}`);
  });
  const args = ['--import', 'tsx', at('demo/caller.ts'), '--url', first.url];
  await children.start('caller', { args, ready: /^ready$/, onLine: heard.take }, signal);
  await heard.until(/^artifact ledger/, signal);
  await delay(restMs, undefined, { signal });
  say();

  say('3. The first page has come. kill -9 to the engine and to its database, in the midst of the stream.');
  say(`   killed: ${await crash(first, folder)}`);
  await delay(downMs, undefined, { signal });
  say();

  say('4. The engine starts again on the same folder. The caller comes back to its task.');
  const second = await startDevEngine(children, options, signal);
  const last = await heard.until(/^result /, signal);
  const result = JSON.parse(last.slice('result '.length)) as CallerResult;
  const steps = await stepsIn(second.url, result.taskId);
  say();

  say('Outcome');
  say(`   task ${result.state}: ${JSON.stringify(result.result)}`);
  say(`   pieces of the artifact ${result.chunks.length}, questions ${result.asked}, broken streams ${result.broken}`);
  say(`   recorded steps of the workflow: ${steps}`);
  return problemsOfServed(result, steps);
}

/** The lines of a program, which can be waited for. */
class Lines {
  readonly #lines: string[] = [];
  readonly #show: (line: string) => void;
  #onLine: () => void = () => undefined;

  constructor(show: (line: string) => void) {
    this.#show = show;
  }

  readonly take = (line: string): void => {
    this.#lines.push(line);
    this.#show(line);
    this.#onLine();
  };

  /** Resolves with the first line that matches. @throws Error if none comes in time */
  async until(pattern: RegExp, interrupted: AbortSignal): Promise<string> {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(untilAsideMs)]);
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const line = this.#lines.find((each) => pattern.test(each));
        if (line !== undefined) resolve(line);
      };
      this.#onLine = look;
      signal.addEventListener('abort', () => {
        reject(new Error(`the caller did not say ${String(pattern)} in time`));
      });
      look();
    });
  }
}

await runOnStage(demo, {
  children: new Children(),
  say: (text = '') => {
    console.log(text);
  },
  worked: 'It worked: the engine died in the midst of the stream, and the caller has every piece once.',
});

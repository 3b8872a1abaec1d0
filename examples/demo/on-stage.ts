import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Children, killProcess } from './child.js';
import { databasesOn } from './engine.js';

/** What a demo runs with. */
export interface Stage {
  readonly children: Children;
  /** Folder for the state of its engines. */
  readonly folder: string;
  readonly say: (text?: string) => void;
  /** Aborts when the demo is interrupted. */
  readonly signal: AbortSignal;
}

/**
 * Runs a demo, which returns what was wrong, and sets the exit code: 0 only if nothing was. Everything that it has started
 * ends with it, also when it fails or is interrupted.
 */
export async function runOnStage(
  demo: (stage: Stage) => Promise<readonly string[]>,
  { children, say, worked }: Pick<Stage, 'children' | 'say'> & { readonly worked: string },
): Promise<void> {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () => {
      interrupted.abort(new Error(`interrupted by ${name}`));
    });
  }
  process.once('exit', () => {
    children.killAll();
  });
  const folder = await mkdtemp(join(tmpdir(), 'outwait-demo-'));
  let problems: readonly string[];
  try {
    problems = await demo({ children, folder, say, signal: interrupted.signal });
  } catch (error) {
    problems = [(error as Error).message, ...children.unexpectedEnds];
  }
  await children.endAll();
  for (const pid of databasesOn(folder)) await killProcess(pid);
  say();
  if (interrupted.signal.aborted) {
    await rm(folder, { recursive: true, force: true });
    say('Interrupted. Everything that the demo started has ended.');
    process.exitCode = 130;
  } else if (problems.length === 0) {
    await rm(folder, { recursive: true, force: true });
    say(worked);
  } else {
    for (const problem of problems) say(`It did not work: ${problem}`);
    say(`The state of the engine is in ${folder}`);
    process.exitCode = 1;
  }
}

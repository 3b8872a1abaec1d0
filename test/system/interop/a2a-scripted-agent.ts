// Behaviour of the agents of these tests, whatever SDK serves them. The first text of the message decides.

import type { Express } from 'express';
import type { AddressInfo } from 'node:net';

/** States as 0.3 names them. */
export type State = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';

/** A message to the agent, and the ways to answer it. */
export interface Turn {
  readonly taskId: string;
  readonly isFollowUp: boolean;
  readonly text: string | undefined;
  readonly data: unknown;
  reply(text: string): void;
  /** Sends the first event about a task. */
  task(state: State): void;
  status(state: State, text?: string): void;
  artifact(data: object): void;
}

export class ScriptedAgent {
  readonly #held = new Map<string, (isCancelled: boolean) => void>();
  tasks = 0;

  async take(turn: Turn): Promise<void> {
    if (turn.isFollowUp) {
      turn.task('working');
      turn.artifact({ answer: turn.data });
      turn.status('completed');
      return;
    }
    if (turn.text === 'greet') {
      turn.reply('hello');
      return;
    }
    this.tasks += 1;
    switch (turn.text) {
      case 'at once':
        turn.task('completed');
        return;
      case 'ask':
        turn.task('submitted');
        turn.status('input-required', 'Which cost centre?');
        return;
      case 'fail':
        turn.task('submitted');
        turn.artifact({ page: 1 });
        turn.status('failed', 'out of paper');
        return;
      case undefined:
      default:
        turn.task('submitted');
        turn.status('working', 'half way');
        if (await this.#isCancelled(turn.taskId)) {
          turn.status('canceled', 'as you wish');
          return;
        }
        turn.artifact({ rows: 12 });
        turn.status('completed');
    }
  }

  cancel(taskId: string): void {
    this.#held.get(taskId)?.(true);
  }

  /** Lets all held tasks end. */
  release(): void {
    for (const go of this.#held.values()) go(false);
  }

  #isCancelled(taskId: string): Promise<boolean> {
    return new Promise((resolve) => this.#held.set(taskId, resolve));
  }
}

/** Serves on a free port of this machine and prints it; ends with its parent, whose pipe closes. */
export function runAgent(agent: ScriptedAgent, app: Express, mount: (origin: string) => void): void {
  app.post('/release', (_request, response) => {
    agent.release();
    response.end();
  });
  app.get('/tasks-started', (_request, response) => {
    response.json(agent.tasks);
  });
  const server = app.listen(0, '127.0.0.1', () => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    mount(origin);
    process.stdout.write(`${origin}\n`);
  });
  process.stdin.resume().once('close', () => process.exit(0));
}

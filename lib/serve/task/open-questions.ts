import type { WaitId } from '../../base/ids.js';
import type { TaskMessage, TaskState } from './served-task.js';

interface OpenQuestion {
  readonly message: TaskMessage;
  readonly isForCredentials: boolean;
}

/** The questions to the caller that are open, oldest first. */
export class OpenQuestions {
  readonly #questions = new Map<WaitId, OpenQuestion>();

  get waitIds(): readonly WaitId[] {
    return [...this.#questions.keys()];
  }

  /** What the caller is asked: one question at a time. */
  get message(): TaskMessage | undefined {
    return this.#oldest?.message;
  }

  get state(): TaskState {
    if (this.#oldest === undefined) return 'working';
    return this.#oldest.isForCredentials ? 'auth-required' : 'input-required';
  }

  open(waitId: WaitId, question: OpenQuestion): void {
    this.#questions.set(waitId, question);
  }

  /** Returns what the question was; undefined if it is not open. */
  close(waitId: WaitId): TaskMessage | undefined {
    const question = this.#questions.get(waitId);
    this.#questions.delete(waitId);
    return question?.message;
  }

  clear(): void {
    this.#questions.clear();
  }

  get #oldest(): OpenQuestion | undefined {
    return [...this.#questions.values()][0];
  }
}

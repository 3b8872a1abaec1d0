import { defined } from '../../base/defined.js';
import type { WaitId } from '../../base/ids.js';
import type { AddressedQuestion } from '../../history/question.js';
import type { OpenQuestion, TaskMessage, TaskState } from './served-task.js';

/** A question to the caller that was requested. */
export interface Requested {
  readonly name: string;
  readonly form: AddressedQuestion;
}

interface Asked extends Requested {
  readonly message: TaskMessage;
}

/** The questions to the caller that are open, oldest first. */
export class OpenQuestions {
  readonly #questions = new Map<WaitId, Asked>();

  get waitIds(): readonly WaitId[] {
    return [...this.#questions.keys()];
  }

  /** The questions as callers see them; undefined if there is none. */
  get shown(): readonly OpenQuestion[] | undefined {
    return this.#questions.size === 0 ? undefined : [...this.#questions.values()].map(asCallersSee);
  }

  /** What the caller is asked: one question at a time. */
  get message(): TaskMessage | undefined {
    return this.#oldest?.message;
  }

  get state(): TaskState {
    if (this.#oldest === undefined) return 'working';
    return this.#oldest.form.kind === 'auth' ? 'auth-required' : 'input-required';
  }

  withKey(key: string): WaitId | undefined {
    return [...this.#questions].find(([, { message }]) => message.messageId === key)?.[0];
  }

  open(waitId: WaitId, question: Asked): void {
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

  get #oldest(): Asked | undefined {
    return [...this.#questions.values()][0];
  }
}

function asCallersSee({ name, message, form }: Asked): OpenQuestion {
  const { schema, url } = form;
  const kind = form.kind === 'auth' ? 'auth' : 'form';
  return { key: message.messageId, name, kind, message: form.message, ...defined({ schema, url }) };
}

import { type Message, type Part, Role, type StreamResponse, type Task, TaskState, type TaskStatus } from '@a2a-js/sdk';
import { type Client, ClientFactory } from '@a2a-js/sdk/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

// A program: an agent elsewhere, with the official client of A2A and nothing of outwait. It calls a skill, answers the
// question, and comes back whenever its stream breaks. Prints what it sees, and at last `result` with all of it as JSON.

/** Interval in which it looks whether the agent is there again. */
const retryMs = 300;

/** What the caller has at the end. */
export interface CallerResult {
  readonly taskId: string;
  readonly state: string;
  /** Questions that it was asked. */
  readonly asked: number;
  /** Streams that broke. */
  readonly broken: number;
  /** Texts of the artifact `ledger`, as they came. */
  readonly chunks: readonly string[];
  readonly result: unknown;
}

class Caller {
  readonly #client: Client;
  readonly #answer: object;
  #taskId = '';
  #contextId = '';
  #broken = 0;
  #state: TaskState | undefined;
  readonly #questions = new Set<string>();
  readonly #parts = new Map<string, Part[]>();

  constructor(client: Client, answer: object) {
    this.#client = client;
    this.#answer = answer;
  }

  async call(skill: string, args: object): Promise<CallerResult> {
    await this.#take(this.#client.sendMessageStream(this.#request({ skill, arguments: args })));
    while (!isFinal(this.#state)) {
      await delay(retryMs);
      const task = await this.#client.getTask({ tenant: '', id: this.#taskId }).catch(() => undefined);
      if (task === undefined) continue;
      await this.#see({ payload: { $case: 'task', value: task } });
      if (!isFinal(this.#state)) await this.#take(this.#client.resubscribeTask({ tenant: '', id: this.#taskId }));
    }
    const [result] = this.#parts.get('result') ?? [];
    return {
      ...{ taskId: this.#taskId, state: nameOf(this.#state), asked: this.#questions.size, broken: this.#broken },
      chunks: (this.#parts.get('ledger') ?? []).map((part) => String(part.content?.value)),
      result: result?.content?.value,
    };
  }

  /** Takes the events of a stream, until it ends or breaks. */
  async #take(events: AsyncIterable<StreamResponse>): Promise<void> {
    try {
      for await (const event of events) await this.#see(event);
    } catch {
      this.#broken++;
      say('the stream has broken; asking for the task until it is there again');
    }
  }

  async #see({ payload }: StreamResponse): Promise<void> {
    switch (payload?.$case) {
      case 'task':
        this.#seeTask(payload.value);
        return this.#seeStatus(payload.value.status);
      case 'statusUpdate':
        return this.#seeStatus(payload.value.status);
      case 'artifactUpdate': {
        const { artifact, append } = payload.value;
        if (artifact === undefined) return;
        const { artifactId, parts } = artifact;
        this.#seeParts(artifactId, append ? [...(this.#parts.get(artifactId) ?? []), ...parts] : parts);
        return;
      }
      case 'message':
      case undefined:
    }
  }

  #seeTask({ id, contextId, artifacts }: Task): void {
    if (this.#taskId === '') say(`the agent has started task ${id.slice(0, 8)}`);
    this.#taskId = id;
    this.#contextId = contextId;
    for (const { artifactId, parts } of artifacts) this.#seeParts(artifactId, parts);
  }

  #seeParts(artifactId: string, parts: Part[]): void {
    const known = this.#parts.get(artifactId)?.length ?? 0;
    for (const { content } of parts.slice(known))
      say(
        `artifact ${artifactId}: ${typeof content?.value === 'string' ? content.value : JSON.stringify(content?.value)}`,
      );
    this.#parts.set(artifactId, parts);
  }

  async #seeStatus(status: TaskStatus | undefined): Promise<void> {
    if (status === undefined) return;
    const { state, message } = status;
    const [part] = message?.parts ?? [];
    const text = part?.content?.$case === 'text' ? part.content.value : undefined;
    const isNews = state !== this.#state || text !== undefined;
    this.#state = state;
    if (state === TaskState.TASK_STATE_INPUT_REQUIRED) return this.#answerOnce(message, text);
    if (isNews) say(`${nameOf(state)}${text === undefined ? '' : `: ${text}`}`);
  }

  /** Answers a question. The task may show it again until it has taken the answer in. */
  async #answerOnce(question: Message | undefined, text = ''): Promise<void> {
    const { messageId } = question ?? { messageId: '' };
    if (this.#questions.has(messageId)) return;
    this.#questions.add(messageId);
    say(`asked: ${text}`);
    await this.#client.sendMessage(this.#request(this.#answer));
    say(`answered: ${JSON.stringify(this.#answer)}`);
  }

  #request(data: object) {
    const noDetails = { metadata: undefined, filename: '', mediaType: 'application/json' };
    return {
      ...{ tenant: '', metadata: undefined },
      message: {
        ...{ messageId: randomUUID(), taskId: this.#taskId, contextId: this.#contextId, role: Role.ROLE_USER },
        ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
        parts: [{ content: { $case: 'data' as const, value: data }, ...noDetails }],
      },
      configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true },
    };
  }
}

function isFinal(state: TaskState | undefined): boolean {
  return (
    state === TaskState.TASK_STATE_COMPLETED ||
    state === TaskState.TASK_STATE_FAILED ||
    state === TaskState.TASK_STATE_CANCELED ||
    state === TaskState.TASK_STATE_REJECTED
  );
}

function nameOf(state: TaskState | undefined): string {
  return (state === undefined ? 'unknown' : TaskState[state]).replace(/^TASK_STATE_/, '').toLowerCase();
}

function say(text: string): void {
  console.log(text);
}

const { values } = parseArgs({ options: { url: { type: 'string', default: 'http://127.0.0.1:4000' } } });
// Ends with its parent, whose pipe is its standard input.
process.stdin.resume().once('close', () => process.exit(0));
const client = await new ClientFactory().createFromUrl(values.url);
say('ready');
const result = await new Caller(client, { costCentre: 4711 }).call('ledger', { month: '2026-10' });
say(`result ${JSON.stringify(result)}`);

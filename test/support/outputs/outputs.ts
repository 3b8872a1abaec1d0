// What the engine writes for others to read while tests run, and what of it must not be there.

/** Ways out of the engine that reach people and systems besides the caller. */
export type Output = 'log' | 'metric' | 'event' | 'trace';

/** The marker that each secret of a test contains: credentials of servers, keys, tokens of senders, payloads. */
export const marker = 'canary';

/** Ids of this many characters and more are looked for. Shorter ones occur by chance. */
const taskIdMinChars = 2;
/** Words kept until they are compared. A task id is known before it can be written, so none is missed. */
const wordsMax = 100_000;

const encodings = ['base64', 'base64url', 'hex'] as const;

/** Characters of `marker` as they stand in JSON, in a URL, or in both. */
const spelled = Array.from(marker, (letter) => {
  const hex = letter.charCodeAt(0).toString(16);
  return `(?:${letter}|%(?:25)?${hex}|\\\\u00${hex})`;
});
/** Base64 has three spellings of a text in the middle of another one; without the characters that depend on it. */
const inBase64 = [0, 1, 2].map((before) => {
  const text = Buffer.from('\0'.repeat(before) + marker).toString('base64');
  const from = Math.ceil((before * 8) / 6);
  return text.slice(from, Math.floor(((before + marker.length) * 8) / 6));
});
// A test file may have the word in its name, which is in the stacks of errors.
const plainMarker = new RegExp(`(?:${spelled.join('')}|${Buffer.from(marker).toString('hex')})(?!\\.test\\.)`, 'i');
const codedMarker = new RegExp(inBase64.join('|'));

/** Capabilities by their documented forms: tokens of waits and pushes, named keys, signed tokens, webhook secrets. */
const tokenForms: readonly RegExp[] = [
  /[0-9a-f]{32}\.[0-9]{1,9}\.[A-Za-z0-9]{1,16}\.[A-Za-z0-9_-]{20,}/,
  /owk_[a-z0-9][a-z0-9-]*\.[0-9a-f]{64}/,
  /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/,
  /whsec_[A-Za-z0-9+/]{16,}/,
];
const separators = /[^A-Za-z0-9_-]+/;
const isWord = /^[A-Za-z0-9_-]+$/;
/** Text that may be a token in base64 or hex. */
const codedRun = /[A-Za-z0-9+/_-]{56,}/g;

/** What is written, with what must not be in it. */
export class Outputs {
  readonly #root: string;
  readonly #leaks = new Set<string>();
  readonly #lines: Record<Output, number> = { log: 0, metric: 0, event: 0, trace: 0 };
  /** Forms of the ids of remote tasks, and parts of tokens, by what they are. */
  readonly #forbidden = new Map<string, string>();
  /** Forbidden texts that are no single word. */
  readonly #phrases = new Map<string, string>();
  /** Each word of an output with the first text that has it. */
  readonly #words: Record<Output, Map<string, string>> = {
    log: new Map(),
    metric: new Map(),
    event: new Map(),
    trace: new Map(),
  };

  /** `root`: path that is left out of texts, as it says nothing about the engine. */
  constructor(root: string) {
    this.#root = root.replace(/\/$/, '');
  }

  /** Number of texts of each output. */
  get lines(): Readonly<Record<Output, number>> {
    return this.#lines;
  }

  /** Looks through a text that left the engine. */
  hear(output: Output, written: string): void {
    this.#lines[output]++;
    const text = written.replaceAll(this.#root, '');
    for (const view of viewsOf(text)) this.#look(output, view, text);
  }

  /** Remembers what gives a right: none of its parts may be written. */
  addToken(token: string): void {
    const secretPart = token.split('.').at(-1) ?? token;
    this.#forbidden.set(secretPart, 'a token');
  }

  /** Remembers the id of a task on a server. */
  addTaskId(taskId: string): void {
    if (taskId.length >= taskIdMinChars && !this.#forbidden.has(taskId) && !this.#phrases.has(taskId))
      this.#forbid('the id of a remote task', taskId);
  }

  /** Returns what was found so far, each with the text that holds it. */
  leaks(): readonly string[] {
    for (const output of ['log', 'metric', 'event', 'trace'] as const) this.#compare(output);
    return [...this.#leaks];
  }

  #forbid(what: string, text: string): void {
    const coded = text.length < 4 ? [] : encodings.map((encoding) => Buffer.from(text).toString(encoding));
    for (const form of [encodeURIComponentOf(text), ...coded.map(withoutPadding)])
      if (isWord.test(form)) this.#forbidden.set(form, what);
    (isWord.test(text) ? this.#forbidden : this.#phrases).set(text, what);
  }

  #look(output: Output, view: string, text: string): void {
    if (plainMarker.test(view) || codedMarker.test(view)) this.#leak('a secret', output, text);
    if (tokenForms.some((form) => form.test(view))) this.#leak('a token', output, text);
    for (const [phrase, what] of this.#phrases) if (view.includes(phrase)) this.#leak(what, output, text);
    const words = this.#words[output];
    for (const word of view.split(separators)) if (!words.has(word)) words.set(word, text);
    if (words.size > wordsMax) {
      this.#compare(output);
      words.clear();
    }
  }

  #compare(output: Output): void {
    for (const [word, what] of this.#forbidden) {
      const text = this.#words[output].get(word);
      if (text !== undefined) this.#leak(`${what} (${word})`, output, text);
    }
  }

  #leak(what: string, output: Output, text: string): void {
    this.#leaks.add(`${output}: ${what} in ${text.slice(0, 2_000)}`);
  }
}

/** Returns the text, and what it says in other spellings. */
function viewsOf(text: string): readonly string[] {
  const views = [text];
  if (text.includes('%')) views.push(decodeURIComponentOf(text));
  for (const [run] of text.matchAll(codedRun)) {
    views.push(Buffer.from(run, 'base64').toString('latin1'));
    if (/^[0-9a-f]+$/i.test(run)) views.push(Buffer.from(run, 'hex').toString('latin1'));
  }
  return views;
}

function decodeURIComponentOf(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll('%', ''), 'hex').toString());
}

function encodeURIComponentOf(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text;
}

function withoutPadding(base64: string): string {
  return base64.replace(/=+$/, '');
}

import { InvalidArgumentError } from 'commander';
import { isWaitId } from '../base/ids.js';
import { idempotencyKeyMaxBytes, signalNameMaxChars, tagNameMaxChars, tagsMax } from '../base/limits.js';
import { nameProblem } from '../base/name.js';

// Parsers of arguments. Commander prefixes the message with the given argument and exits with a usage error.

/** What stands for a run id in the help of every command that takes one. */
export const runIdHelp = 'run id, its first 6 or more characters, or your own id of the run';

/** Parses what stands for a run: `resolveRun` finds it. */
export function runArgument(text: string): string {
  const problem = nameProblem(text, { maxBytes: signalNameMaxChars + idempotencyKeyMaxBytes });
  if (problem !== undefined) throw new InvalidArgumentError(`The id of a run ${problem}.`);
  return text;
}

export function waitIdArgument(text: string): string {
  if (!isWaitId(text)) throw new InvalidArgumentError('The number of a wait is 1, 2, 3 …; outwait why shows it.');
  return text;
}

export function inputIdArgument(text: string): string {
  const dot = text.lastIndexOf('.');
  if (dot < 1 || !isWaitId(text.slice(dot + 1)))
    throw new InvalidArgumentError(
      'The id of a question is that of its run, a dot and a number; outwait inputs lists them.',
    );
  return text;
}

export function nameArgument(text: string): string {
  // A URL would resolve these as path segments.
  const problem =
    text === '.' || text === '..' ? `must not be "${text}"` : nameProblem(text, { maxChars: signalNameMaxChars });
  if (problem !== undefined) throw new InvalidArgumentError(`A name ${problem}.`);
  return text;
}

/** Collects repeated options of the form name=value. */
export function tagsArgument(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const match = /^([^=]{1,64})=([^]{0,256})$/.exec(text);
  const [, name, tag] = match ?? [];
  if (name === undefined || tag === undefined) throw new InvalidArgumentError('A tag has the form name=value.');
  const problem = nameProblem(name, { maxChars: tagNameMaxChars });
  if (problem !== undefined) throw new InvalidArgumentError(`The name of a tag ${problem}.`);
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`The tag ${name} is given twice.`);
  if (Object.keys(before).length >= tagsMax) throw new InvalidArgumentError(`At most ${tagsMax} tags can be given.`);
  return { ...before, [name]: tag };
}

export function keyArgument(text: string): string {
  const problem = nameProblem(text, { maxBytes: idempotencyKeyMaxBytes });
  if (problem !== undefined) throw new InvalidArgumentError(`A key ${problem}.`);
  return text;
}

export function wholeNumberArgument(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < min || number > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return number;
  };
}

export function urlArgument(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('It must be an http or https URL, for example http://127.0.0.1:4000.');
  return url.origin + url.pathname.replace(/\/$/, '');
}

/** Collects repeated origins of web pages. */
export function originsArgument(text: string, before: readonly string[] = []): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
    throw new InvalidArgumentError('It must be the origin of a page, for example http://localhost:3000.');
  return [...before, url.origin];
}

export function textArgument(maxChars: number): (text: string) => string {
  return (text) => {
    if (text.length > maxChars) throw new InvalidArgumentError(`It must be at most ${maxChars} characters.`);
    return text;
  };
}

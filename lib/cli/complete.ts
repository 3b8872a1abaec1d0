import type { Argument, Command, Option } from 'commander';

// Completion of a command line, from the commands and options as they are declared. Our own: the packages for it complete a
// value-less option as if it took one, keep readonly variables in the shell of the user, or edit its start files.

/** What the shell is to offer. `files`: the names of files, which shells know best. */
export type Offer = 'files' | readonly Candidate[];

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What an engine knows, asked for only where it is needed. */
export interface Known {
  readonly workflows: (url: string | undefined) => Promise<readonly string[]>;
  readonly runs: (url: string | undefined) => Promise<readonly Candidate[]>;
}

/** Returns what completes the last of `words`, those after the name of the program. */
export async function complete(program: Command, words: readonly string[], known: Known): Promise<Offer> {
  const all = joined(words);
  const typed = all.at(-1) ?? '';
  const place = placeAfter(program, all.slice(0, -1));
  const equals = /^(--[\w-]+)=(.*)$/.exec(typed);
  const inline = equals === null ? undefined : optionOf(place.command, equals[1] ?? '');
  const option = place.expecting ?? inline;
  if (option !== undefined) {
    const offered = await valuesOf(option, option.argChoices, place.url, known);
    const isInline = place.expecting === undefined;
    return startingWith(offered, isInline ? (equals?.[2] ?? '') : typed, isInline ? `${equals?.[1] ?? ''}=` : '');
  }
  if (typed.startsWith('-')) return startingWith(optionsOf(place.command), typed);
  if (place.command.commands.length > 0) return startingWith(commandsOf(place.command), typed);
  const declared = place.command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[place.arguments] ?? (last?.variadic === true ? last : undefined);
  return argument === undefined
    ? []
    : startingWith(await valuesOf(argument, argument.argChoices, place.url, known), typed);
}

interface Place {
  readonly command: Command;
  /** Number of arguments before it. */
  readonly arguments: number;
  /** The option whose value comes next. */
  readonly expecting: Option | undefined;
  readonly url: string | undefined;
}

function placeAfter(program: Command, words: readonly string[]): Place {
  let command = program;
  let count = 0;
  let expecting: Option | undefined;
  let url: string | undefined;
  for (const word of words) {
    if (expecting !== undefined) {
      if (expecting.long === '--url') url = word;
      expecting = undefined;
    } else if (word.startsWith('-')) {
      const [name = '', value] = word.split('=', 2);
      const option = optionOf(command, name);
      if (option?.long === '--url') url = value;
      expecting = option?.required === true && value === undefined ? option : undefined;
    } else {
      const next = count === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (next === undefined) count++;
      else command = next;
    }
  }
  return { command, arguments: count, expecting, url };
}

/** Joins what bash takes apart at `=` and `@`. */
function joined(words: readonly string[]): readonly string[] {
  const all: string[] = [];
  for (const word of words) {
    const before = all.at(-1) ?? '';
    const belongs = (word === '=' && before.startsWith('--')) || before === '@' || /^--[\w-]+=$/.test(before);
    if (belongs) all.splice(-1, 1, before + word);
    else all.push(word);
  }
  return all;
}

function optionOf(command: Command, name: string): Option | undefined {
  const found = command.options.find(({ long, short }) => long === name || short === name);
  return found ?? (command.parent === null ? undefined : optionOf(command.parent, name));
}

function optionsOf(command: Command): readonly Candidate[] {
  const own = command.createHelp().visibleOptions(command);
  const above = command.parent === null ? [] : optionsOf(command.parent).filter(({ value }) => value === '--no-color');
  return [...own.flatMap(({ long, description }) => (long ? [{ value: long, description }] : [])), ...above];
}

function commandsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), description: each.description() }));
}

async function valuesOf(
  place: Argument | Option,
  choices: readonly string[] | undefined,
  url: string | undefined,
  known: Known,
): Promise<Offer> {
  if (choices !== undefined) return choices.map((value) => ({ value, description: '' }));
  const name = 'flags' in place ? (/[<[]([\w=-]+)/.exec(place.flags)?.[1] ?? '') : place.name();
  if (/^(file|files|folder|paths|json|input)$/.test(name)) return 'files';
  if (name === 'runId') return known.runs(url);
  const isWorkflow = name === 'workflow' || ('flags' in place && place.long === '--workflow');
  return isWorkflow ? (await known.workflows(url)).map((value) => ({ value, description: '' })) : [];
}

function startingWith(offer: Offer, typed: string, before = ''): Offer {
  if (offer === 'files') return offer;
  return offer
    .filter(({ value }) => value.startsWith(typed))
    .map(({ value, description }) => ({ value: before + value, description }));
}

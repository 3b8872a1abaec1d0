import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { nameProblem } from '../../../lib/base/name.js';
import { keyArgument, nameArgument, tagsArgument } from '../../../lib/cli/arguments.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { startNamedRun } from '../../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../../../lib/operations/requests/start-run.js';
import { defineSchedule } from '../../../lib/workflow/schedule.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld, type World } from './world.js';

// Names that look like another one, like nothing, or like the end of a line, each with its description in the answer.
const bad = [
  ['a space', ' ', 'U+0020'],
  ['spaces of three kinds', ' \u00a0\u3000', 'U+0020 U+00A0 U+3000'],
  ['a tab', '\t', 'U+0009'],
  ['a tab inside', 'a\tb', 'U+0009'],
  ['a NUL inside', 'a\0b', 'U+0000'],
  ['a line break at the end', 'a\n', 'U+000A'],
  ['a next-line control', 'a\u0085b', 'U+0085'],
  ['a zero-width space', 'a\u200bb', 'U+200B'],
  ['a zero-width joiner', 'a\u200d', 'U+200D'],
  ['a byte order mark', '\ufeffa', 'U+FEFF'],
  ['a soft hyphen', 'a\u00adb', 'U+00AD'],
  ['an override of the direction', 'a\u202eb', 'U+202E'],
  ['a tag character beyond the first plane', 'a\u{e0041}', 'U+E0041'],
  ['a line separator', 'a\u2028b', 'U+2028'],
  ['a paragraph separator', 'a\u2029b', 'U+2029'],
  ['letters that show nothing', '\u3164\u2800', 'U+3164 U+2800'],
] as const;

const good = [
  'order 4711',
  ' x ',
  'a/b',
  'größe',
  'gro\u0308\u00dfe',
  '注文',
  '🧾',
  '❤\ufe0f',
  'a'.repeat(128),
  '%00',
  '"',
  '-',
];

type Call = (world: World, name: string, runId: string) => Promise<unknown>;

/** Operations by which a name enters the engine from a program. */
const operations: Readonly<Record<string, Call>> = {
  'the key of a start': ({ deps }, key) => startRun(deps, { workflow: 'talks', key }),
  'the id of a start': ({ deps }, id) => startNamedRun(deps, { workflow: 'talks', id }),
  'the key of a start with a signal': ({ deps }, key) =>
    startOrSignal(deps, { workflow: 'talks', key, signal: { name: 'say' } }),
  'the signal of a start': ({ deps }, name) => startOrSignal(deps, { workflow: 'talks', key: 'k', signal: { name } }),
  'the key of the signal of a start': ({ deps }, key) =>
    startOrSignal(deps, { workflow: 'talks', key: 'k', signal: { name: 'say', key } }),
  'the name of a tag': ({ deps }, name) => startRun(deps, { workflow: 'talks', tags: { [name]: 'x' } }),
  'the name of a signal': ({ deps }, name, runId) => signalRun(deps, runId, { name }),
  'the key of a signal': ({ deps }, key, runId) => signalRun(deps, runId, { name: 'say', key }),
  'the id of a cancel': ({ deps }, requestId, runId) => requestStop(deps, { runId, kind: 'cancel', requestId }),
  'the id of a terminate': ({ deps }, requestId, runId) => requestStop(deps, { runId, kind: 'terminate', requestId }),
};

type Route = (
  name: string,
  runId: string,
) => [path: string, init: { body?: unknown; headers?: Record<string, string> }];

const start = (more: object): [string, { body: unknown }] => ['/runs', { body: { workflow: 'talks', ...more } }];

/** Routes by which a name enters over HTTP. */
const routes: Readonly<Record<string, Route>> = {
  'key of POST /runs': (key) => start({ key }),
  'id of POST /runs': (id) => start({ id }),
  'a tag of POST /runs': (name) => start({ tags: { [name]: 'x' } }),
  'the signal of POST /runs': (name) => start({ key: 'k', signal: { name } }),
  'the key of the signal of POST /runs': (key) => start({ key: 'k', signal: { name: 'say', key } }),
  'the path of a signal': (name, runId) => [`/runs/${runId}/signals/${encodeURIComponent(name)}`, {}],
  'the key of a signal': (key, runId) => [`/runs/${runId}/signals/say`, { body: { key } }],
  'the path of a query': (name, runId) => [`/runs/${runId}/queries/${encodeURIComponent(name)}`, {}],
  'requestId of a cancel': (requestId, runId) => [`/runs/${runId}/cancel`, { body: { requestId } }],
  'requestId of a terminate': (requestId, runId) => [`/runs/${runId}/terminate`, { body: { requestId } }],
};

describe('F25 a name from outside', () => {
  it.each(bad)('that is, or has, %s is refused, and the answer names it', (_, name, named) => {
    expect(nameProblem(name, { maxBytes: 255 })).toMatch(new RegExp(`got ${named.replaceAll('+', '\\+')}$`));
  });

  it.each(good)('such as %j is taken as it is', (name) => {
    expect(nameProblem(name, { maxBytes: 255 })).toBeUndefined();
  });

  it.each([
    ['', { maxBytes: 255 }, 'must be 1 to 255 bytes, got 0'],
    ['é'.repeat(128), { maxBytes: 255 }, 'must be 1 to 255 bytes, got 256'],
    ['x'.repeat(129), { maxChars: 128 }, 'must be 1 to 128 characters, got 129'],
    ['a\ud800', { maxChars: 128 }, 'must be well-formed text, got half of a surrogate pair'],
  ])('has a length, and is text', (name, length, problem) => {
    expect(nameProblem(name, length)).toBe(problem);
  });

  it.each(Object.entries(operations))('is refused as %s, and changes nothing', async (_, call) => {
    const world = aWorld();
    const { runId } = await startRun(world.deps, { workflow: 'talks' });
    const before = world.dump();
    for (const [, name] of [...bad, ['', '', ''], ['', '\udc00', '']] as const)
      await expect(call(world, name, runId), JSON.stringify(name)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(world.dump()).toBe(before);
    for (const name of good.slice(0, 8)) await call(world, name, runId);
  });

  it.each(Object.entries(routes))('is answered 400 as %s, and changes nothing', async (_, route) => {
    const client = aClient();
    const runId = await startedRun(client, 'talks');
    const before = client.world.dump();
    for (const [, name] of bad) {
      const answer = await client.ask('POST', ...route(name, runId));
      expect([answer.status, errorOf(answer).code], JSON.stringify(name)).toEqual([400, 'INPUT_INVALID']);
    }
    expect(client.world.dump()).toBe(before);
  });

  it('is answered 400 as the header Idempotency-Key, where a header can hold it', async () => {
    const { ask, world } = aClient();
    for (const key of ['a\tb', 'a\u00adb', '\u00a0', 'a\u0085b']) {
      const headers = { 'idempotency-key': key };
      const answer = await ask('POST', '/runs', { body: { workflow: 'talks' }, headers });
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    }
    expect(world.dump()).toBe('[]');
  });

  it('is a usage error of the commands', () => {
    for (const [, name] of bad) {
      expect(() => keyArgument(name)).toThrow(InvalidArgumentError);
      expect(() => nameArgument(name)).toThrow(InvalidArgumentError);
      expect(() => tagsArgument(`${name}=x`)).toThrow(InvalidArgumentError);
    }
  });

  it('is refused as the name of a schedule and of a workflow', () => {
    const run = async (): Promise<null> => null;
    const workflow = defineWorkflow({ name: 'w', run });
    for (const [, name] of bad) {
      expect(() => defineWorkflow({ name, run })).toThrow();
      expect(() => defineSchedule({ name, workflow, every: { hours: 1 } })).toThrow();
    }
  });
});

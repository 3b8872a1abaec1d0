import { readdirSync, readFileSync } from 'node:fs';
import { replayHistory, type HistoryView } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { record } from './histories/record.js';
import { appOf, type Recording, recordings } from './histories/workflows.js';

/**
 * Requests that show the planted change of each history's workflow, and the recording that a second history belongs to.
 */
const differences: Readonly<
  Record<string, { readonly recorded: string; readonly asked: string; readonly of?: string }>
> = {
  'steps-with-retries': { recorded: 'step "flaky"', asked: 'step "refused"' },
  'race-of-remote-and-timer': {
    recorded: 'remote task "export" on "remote"',
    asked: 'remote task "import" on "remote"',
  },
  'all-of-five-remotes': { recorded: 'remote task "one" on "remote"', asked: 'remote task "five" on "remote"' },
  'cancel-with-cleanup': { recorded: 'a sleep', asked: 'step "report"' },
  signals: { recorded: 'signal "last"', asked: 'signal "final"' },
  'child-parent': { recorded: 'child "child"', asked: 'child "child" (with other arguments)' },
  'child-itself': { recorded: 'a sleep', asked: 'step "grow"', of: 'child-parent' },
  'continue-as-new-first': { recorded: 'step "work"', asked: 'step "rest"' },
  'continue-as-new-second': { recorded: 'step "work"', asked: 'step "rest"', of: 'continue-as-new-first' },
  saga: { recorded: 'step "cancel hotel"', asked: 'step "refund hotel"' },
  'patched-before': { recorded: 'step "pay"', asked: 'step "pay again"' },
  'patched-after': { recorded: 'step "pay again"', asked: 'step "pay"' },
  tokens: { recorded: 'token "approval"', asked: 'token "consent"' },
  progress: { recorded: 'step "note"', asked: 'step "log"' },
  'under-way': { recorded: 'remote task "one" on "remote"', asked: 'a sleep' },
};

const folder = new URL('histories/', import.meta.url);
const versions = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const namesOf = (version: string): readonly string[] =>
  readdirSync(new URL(`${version}/`, folder)).map((file) => file.replace(/\.json$/, ''));
const read = (version: string, name: string): HistoryView =>
  JSON.parse(readFileSync(new URL(`${version}/${name}.json`, folder), 'utf8')) as HistoryView;

function recordingOf(name: string): Recording {
  const recording = recordings[differences[name]?.of ?? name];
  if (recording === undefined) throw new Error(`there is no recording "${name}"`);
  return recording;
}

it('there are histories', () => {
  expect(versions).toContain('0.1.0');
  expect([...namesOf('0.1.0')].sort()).toEqual(Object.keys(differences).sort());
});

describe.each(versions)('a history of version %s', (version) => {
  it.each(namesOf(version))('fits the code of today: %s', async (name) => {
    const history = read(version, name);
    const outcome = history.events.find((event) => event.type === 'RunEnding')?.outcome;
    expect(await replayHistory(appOf(recordingOf(name).workflows), history)).toEqual({
      kind: 'clean',
      ...(outcome === undefined ? {} : { outcome }),
    });
  });

  it.each(namesOf(version))('does not fit a changed workflow, and both commands are named: %s', async (name) => {
    const { recorded, asked } = differences[name] ?? {};
    const replayed = await replayHistory(appOf(recordingOf(name).changed), read(version, name));
    expect(replayed).toMatchObject({
      kind: 'differs',
      error: { code: 'NONDETERMINISM', details: { recorded, asked } },
    });
    expect(replayed.kind === 'differs' && replayed.error.message).toContain(
      `the history has ${recorded ?? ''}, but the workflow now asks for ${asked ?? ''}. Deploy`,
    );
  });
});

// A recording that no longer does what its name says would leave the next version without that history.
describe('a recording made today', () => {
  it.each(Object.entries(recordings))('fits the code of today: %s', async (name, recording) => {
    for (const [file, history] of Object.entries(await record(name, recording))) {
      expect(Object.keys(differences)).toContain(file);
      expect(await replayHistory(appOf(recording.workflows), history)).toMatchObject({ kind: 'clean' });
    }
  });
});

describe('the recorded histories', () => {
  const typesIn = (name: string): ReadonlySet<string> => new Set(read('0.1.0', name).events.map(({ type }) => type));

  it.each([
    ['steps-with-retries', ['StepAttemptFailed', 'StepCompleted', 'StepFailed']],
    ['race-of-remote-and-timer', ['RemoteTaskRequested', 'RemoteTaskStarted', 'TimerFired']],
    ['all-of-five-remotes', ['RemoteTaskStarted', 'TokenSettled']],
    ['cancel-with-cleanup', ['CancelRequested', 'StepCompleted', 'TimerFired']],
    ['signals', ['SignalReceived', 'SignalDelivered', 'SignalWaitTimedOut']],
    ['child-parent', ['ChildRequested', 'ChildStarted', 'TokenSettled']],
    ['saga', ['StepFailed', 'RunEnding']],
    ['patched-after', ['PatchRecorded']],
    ['progress', ['RemoteTaskProgressed', 'StepCompleted', 'TimerFired']],
    ['tokens', ['ExternalWaitRequested', 'ExternalWaitIssued', 'TokenSettled']],
  ])('hold what they are to keep readable: %s', (name, types) => {
    expect([...typesIn(name)]).toEqual(expect.arrayContaining(types));
  });

  it('end as they are to', () => {
    expect(
      ['cancel-with-cleanup', 'continue-as-new-first', 'saga', 'race-of-remote-and-timer', 'under-way'].map(
        (name) => read('0.1.0', name).events.find((event) => event.type === 'RunEnding')?.outcome.status,
      ),
    ).toEqual(['cancelled', 'continued', 'failed', 'completed', undefined]);
    expect(typesIn('patched-before')).not.toContain('PatchRecorded');
  });
});

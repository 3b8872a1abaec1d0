import { describe, expect, it } from 'vitest';
import { LiveView } from '../../../examples/demo/live-view.js';
import { progressOf, waitedMsIn } from '../../../examples/demo/run-progress.js';
import { problemsOf } from '../../../examples/demo/verdict.js';

describe('the verdict of the demo', () => {
  const result = {
    report: {
      status: 'ready',
      month: '2026-10',
      rows: 410,
      file: 'bookings-2026-10.csv',
      recipients: ['finance@example.com'],
    },
    quote: { status: 'within budget', reference: 'RFQ-123456', totalCents: 45_000, currency: 'EUR' },
  };
  const completed = (of: unknown) => ({ state: 'completed', result: of });
  const once = { startCalls: [{ key: 'k' }], tasks: 1, reads: 1, cancels: 0 };
  const twice = { startCalls: [{ key: 'k' }, { key: 'k' }], tasks: 1, reads: 1, cancels: 0 };
  const never = { startCalls: [], tasks: 0, reads: 0, cancels: 0 };
  const right = [completed(result.report), completed(result.quote)];

  it('is good when both results are right and each server was asked once', () => {
    expect(problemsOf(right, { reports: once, supplier: once })).toEqual([]);
  });

  it('names a server that was asked twice, or never', () => {
    expect(problemsOf(right, { reports: twice, supplier: never })).toEqual([
      'reports saw 2 calls to start a task, not 1',
      'supplier saw 0 calls to start a task, not 1',
    ]);
  });

  it('names a run that did not complete or has another result', () => {
    const wrong = [{ state: 'failed', result: undefined }, completed({ ...result.quote, totalCents: 1 })];
    expect(problemsOf(wrong, { reports: once, supplier: once })).toEqual([
      'monthly report did not complete, it is failed',
      expect.stringMatching(/^supplier quote has another result: /),
    ]);
    expect(problemsOf([completed({ ...result.report, rows: 1 })], { reports: once, supplier: once })).toEqual([
      expect.stringMatching(/^monthly report has another result: /),
      'supplier quote did not complete, it is not there',
    ]);
  });
});

describe('the progress of a run', () => {
  const remoteWait = { waitId: '2', kind: 'remoteTask', name: 'quote', server: 'supplier', sinceMs: 5 };
  const none = { waits: [] };

  it.each([
    ['running', [], none, false],
    ['running the step "count"', [{ waitId: '1', kind: 'step', name: 'count', sinceMs: 5 }], none, false],
    ['asking "supplier" to start a task', [remoteWait], { waits: [{ waitId: '2' }] }, false],
    ['waiting for "supplier", task 01234567', [remoteWait], { waits: [{ waitId: '2', taskId: '0123456789' }] }, true],
    ['running', [remoteWait], none, false],
  ])('is "%s"', (state, waits, external, isWaiting) => {
    expect(progressOf({ status: 'running', waits }, external)).toMatchObject({ state, isWaiting, hasEnded: false });
  });

  it('is the status, with the result, once it has ended', () => {
    const outcome = { status: 'completed', result: 7 };
    expect(progressOf({ status: 'completed', outcome, endedAtMs: 9, waits: [] }, none)).toEqual({
      state: 'completed',
      sinceMs: 9,
      isWaiting: false,
      hasEnded: true,
      result: 7,
    });
  });

  it('counts the time from each request of a remote task to its end', () => {
    const events = [
      { type: 'RunStarted', atMs: 0 },
      { type: 'RemoteTaskRequested', atMs: 10, waitId: '1' },
      { type: 'RemoteTaskRequested', atMs: 20, waitId: '2' },
      { type: 'RemoteTaskStarted', atMs: 90, waitId: '1' },
      { type: 'TokenSettled', atMs: 110, waitId: '1' },
      { type: 'RemoteTaskRequested', atMs: 120, waitId: '3' },
      { type: 'TokenSettled', atMs: 125, waitId: '2' },
    ];
    expect(waitedMsIn({ events })).toBe(205);
  });
});

describe('the live view', () => {
  function output(isTTY: boolean): { view: LiveView; written: () => string } {
    let text = '';
    const write = (more: string): void => {
      text += more;
    };
    const written = (): string => {
      const sofar = text;
      text = '';
      // Colours are meant for a person.
      return sofar.replaceAll(/\u001b\[\d+m/g, '');
    };
    return { view: new LiveView({ isTTY, write }, () => 3_500), written };
  }
  const row = (state: string) => ({ name: 'a run', state, sinceMs: 1_000 });

  it('prints one line per change where there is no terminal', () => {
    const { view, written } = output(false);
    view.show([row('one'), { name: 'b', state: 'x', sinceMs: undefined }]);
    view.show([row('one'), { name: 'b', state: 'x', sinceMs: undefined }]);
    view.show([row('two'), { name: 'b', state: 'x', sinceMs: undefined }]);

    expect(written()).toBe('    a run: one\n    b: x\n    a run: two\n');
  });

  it('redraws its table in place on a terminal, with what is said above it', () => {
    const { view, written } = output(true);
    const table = (state: string) => `    a run  ${state.padEnd(44)} 2 s\n`;
    view.show([row('one')]);
    expect(written()).toBe(table('one'));
    view.show([row('two')]);
    expect(written()).toBe(`\u001b[1A\u001b[0J${table('two')}`);
    view.say('hello');
    expect(written()).toBe(`\u001b[1A\u001b[0Jhello\n${table('two')}`);
  });

  it('leaves a frozen table alone', () => {
    const { view, written } = output(true);
    view.show([row('one')]);
    written();
    view.freeze();
    view.say('hello');

    expect(written()).toBe('hello\n');
  });
});

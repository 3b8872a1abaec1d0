import { describe, expect, it } from 'vitest';
import { parseStepMessage, parseTurnMessage, parseWorkMessage } from '../../../lib/aws/messages.js';
import { oneTurnFor } from '../../../lib/queue/one-turn.js';

const runId = 'a'.repeat(32);

describe('a turn message', () => {
  it('says what has come, or does not', () => {
    expect(parseTurnMessage(JSON.stringify({ runId }))).toEqual({ runId });
    const news = [{ waitId: '3' }, { inboxId: 'signal-2-go-k' }];
    expect(parseTurnMessage(JSON.stringify({ runId, news }))).toEqual({ runId, news });
  });

  it.each([[[{ waitId: '3' }, { somethingNew: 1 }]], [[{ waitId: 'x/y' }]], ['3'], [{}]])(
    'whose news this version does not know asks for a turn that looks at all: %j',
    (news) => {
      expect(parseTurnMessage(JSON.stringify({ runId, news }))).toEqual({ runId });
    },
  );
});

/** Returns `message` with one field after the other replaced by an invalid value; undefined leaves it out. */
function spoilt(message: object, wrong: Readonly<Record<string, readonly unknown[]>>): readonly string[] {
  return Object.entries(wrong).flatMap(([name, values]) =>
    values.map((value) => JSON.stringify({ ...message, [name]: value })),
  );
}

const noIds = [undefined, null, 3, '', 'A'.repeat(32), 'x/y'];
const noInstants = [null, '5', -1, 1.5, 2 ** 53];
const noCounts = [undefined, null, '1', 0, -1, 1.5];

describe('the body of a message', () => {
  const step = { runId, waitId: '3', dueAtMs: 5 };
  const wake = { kind: 'wake', runId, dueAtMs: 0 };
  const poll = { kind: 'poll', runId, waitId: '3' };
  const hop = { count: 1, claimedDueAtMs: 5 };

  it.each([
    [parseTurnMessage, { runId, unharmed: [{ waitId: '3', attempt: 1, begun: 2 }] }],
    [parseStepMessage, step],
    [parseStepMessage, { ...step, unharmed: 'the writer' }],
    [parseWorkMessage, wake],
    [parseWorkMessage, poll],
    [parseWorkMessage, { ...poll, server: 'lab', dueAtMs: 5, hop }],
  ])('is read as it was sent, without fields that a newer version may have put in: %o %j', (parse, message) => {
    expect(parse(JSON.stringify({ ...message, somethingNew: 1 }))).toEqual(message);
  });

  it('keeps nothing of a hop but what this version knows', () => {
    const sent = { ...poll, hop: { ...hop, somethingNew: 1 } };
    expect(parseWorkMessage(JSON.stringify(sent))).toEqual({ ...poll, hop });
  });

  it.each(['', '{', 'null', '3', '"text"', '[]', '{}', ...spoilt({}, { runId: noIds })])(
    'is not a turn message: %s',
    (body) => {
      expect(parseTurnMessage(body)).toBeUndefined();
    },
  );

  it.each([
    '{',
    'null',
    '[]',
    '{}',
    ...spoilt(step, { runId: noIds, waitId: noIds, dueAtMs: [undefined, ...noInstants] }),
  ])('is not a step message: %s', (body) => {
    expect(parseStepMessage(body)).toBeUndefined();
  });

  it.each([
    ...['{', 'null', '[]', '{}'],
    ...spoilt(wake, { kind: [undefined, 'later'], runId: noIds, dueAtMs: [undefined, ...noInstants] }),
    ...spoilt(poll, { runId: noIds, waitId: noIds, server: [null, 3], dueAtMs: noInstants, hop: [null, 3, [], {}] }),
    ...spoilt(poll, { kind: [undefined, 'later'] }),
    ...spoilt(poll, { hop: noCounts.map((count) => ({ ...hop, count })) }),
    ...spoilt(poll, { hop: [undefined, ...noInstants].map((claimedDueAtMs) => ({ ...hop, claimedDueAtMs })) }),
  ])('is not a work message: %s', (body) => {
    expect(parseWorkMessage(body)).toBeUndefined();
  });

  it.each([null, 3, [], {}])('of a step whose hint this version does not know is read without it: %j', (unharmed) => {
    expect(parseStepMessage(JSON.stringify({ ...step, unharmed }))).toEqual(step);
  });

  it.each([
    ...[null, 'x', {}, [3]],
    ...noIds.map((waitId) => [{ waitId, attempt: 1, begun: 1 }]),
    ...noCounts.flatMap((count) => [
      [{ waitId: '3', attempt: count, begun: 1 }],
      [{ waitId: '3', attempt: 1, begun: count }],
    ]),
  ])('of a turn whose hint this version does not know is read without it: %j', (unharmed) => {
    expect(parseTurnMessage(JSON.stringify({ runId, unharmed }))).toEqual({ runId });
  });
});

describe('messages of one run that are there together', () => {
  it('ask for one turn, with the news of all', () => {
    const messages = [
      { runId, news: [{ waitId: '3' }] },
      { runId, news: [{ inboxId: 'i' }, { waitId: '4' }] },
    ];
    expect(oneTurnFor(messages)).toEqual({ runId, news: [{ waitId: '3' }, { inboxId: 'i' }, { waitId: '4' }] });
  });

  it('ask for one that looks at all when one of them does not say what has come', () => {
    expect(oneTurnFor([{ runId, news: [{ waitId: '3' }] }, { runId }])).toEqual({ runId });
    expect(oneTurnFor([])).toBeUndefined();
  });
});

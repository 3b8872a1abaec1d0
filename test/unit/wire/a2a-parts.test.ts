import { describe, expect, it } from 'vitest';
import { normalPart, problemWithPart } from '../../../lib/remote/a2a/normal-form.js';
import { answerParts } from '../../../lib/remote/a2a/question.js';

describe('a part of a message', () => {
  it.each([
    { text: '' },
    { data: null },
    { data: [1, 'a'], mediaType: 'application/json' },
    { raw: '' },
    { raw: 'aGk=', mediaType: 'text/plain' },
    { raw: 'aGk' },
    { raw: '-_-_' },
    { url: 'http://169.254.169.254/latest', unknown: { kept: true } },
  ])('A2A-C41: %j is a part and stays as it is', (part) => {
    expect(normalPart(part)).toEqual(part);
  });

  it('data of 0.3 is taken out of its wrapper only where it says that it is in one', () => {
    const part = { data: { value: 1 }, metadata: { page: 1 } };
    expect(normalPart({ kind: 'data', ...part })).toEqual(part);
    expect(normalPart({ kind: 'data', ...part, metadata: { page: 1, data_part_compat: true } })).toEqual({
      data: 1,
      metadata: { page: 1 },
    });
  });

  const one = 'must have exactly one of text, raw, url, data';
  it.each([
    [{}, one],
    [{ text: 'a', data: 1 }, one],
    [{ kind: 'file', file: { bytes: 'aGk=', uri: 'https://a.example' } }, one],
    [{ kind: 'file', file: 'x' }, one],
    [{ raw: 'a' }, 'must have base64 as raw'],
    [{ raw: 'a b=' }, 'must have base64 as raw'],
    [{ raw: 3 }, 'must have a string as raw'],
    [{ text: null }, 'must have a string as text'],
    ['text', 'a part must be an object'],
    [null, 'a part must be an object'],
  ])('A2A-C41: %j is not content but a problem of its own', (part, problem) => {
    expect(normalPart(part as never)).toEqual({ problem, part });
  });

  it('A2A-C41: what we send is held to the same rules', () => {
    expect(problemWithPart({ data: null })).toBeUndefined();
    expect(problemWithPart({ raw: '*' })).toBe('must have base64 as raw');
  });
});

describe('the parts of an answer', () => {
  it.each([
    [{ action: 'accept', content: '4711' }, [{ text: '4711' }]],
    [
      { action: 'accept', content: { costCentre: '4711' } },
      [{ data: { costCentre: '4711' }, mediaType: 'application/json' }],
    ],
    [{ action: 'accept', content: null }, [{ data: null, mediaType: 'application/json' }]],
    [{ action: 'accept' }, [{ text: 'Accepted.' }, { data: { action: 'accept' }, mediaType: 'application/json' }]],
    [
      { action: 'decline' },
      [
        { text: 'Declined: no answer will be given to this question.' },
        { data: { action: 'decline' }, mediaType: 'application/json' },
      ],
    ],
    [
      { action: 'cancel' },
      [
        { text: 'Cancelled: nobody answered this question.' },
        { data: { action: 'cancel' }, mediaType: 'application/json' },
      ],
    ],
  ] as const)('GB-02: of %j', (answer, parts) => {
    expect(answerParts(answer)).toEqual(parts);
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { readInputRequests } from '../../../lib/remote/mcp/elicitation.js';

const ask = (params: JsonObject) => ({ method: 'elicitation/create', params });

describe('what an MCP server asks', () => {
  it('a message is cut at 4 KiB and never inside a character', () => {
    const { questions } = readInputRequests({ a: ask({ message: 'é'.repeat(3_000) }) });
    expect(questions[0]!.message).toBe('é'.repeat(2_048));
  });

  it('a question without a message is still one', () => {
    expect(readInputRequests({ a: ask({}) }).questions).toEqual([{ key: 'a', kind: 'form', message: '' }]);
  });

  it('no more than 64 questions are taken', () => {
    const requests = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`k${n}`, ask({ message: 'x' })]));
    const { questions, unanswerable } = readInputRequests(requests);
    expect([questions.length, unanswerable.length]).toEqual([64, 6]);
  });

  it.each([
    ['a key of 2 KiB', { ['k'.repeat(2_048)]: ask({}) }],
    ['no object', { a: 'x' }],
    ['no method', { a: { params: {} } }],
    ['an unknown mode', { a: ask({ mode: 'voice' }) }],
    ['a schema that is no object', { a: ask({ requestedSchema: 'x' }) }],
    ['a schema of 70 KiB', { a: ask({ requestedSchema: { title: 'x'.repeat(70_000) } }) }],
    ['a page without an address', { a: ask({ mode: 'url' }) }],
    ['a page with an address of 5 KiB', { a: ask({ mode: 'url', url: `https://x.example/${'x'.repeat(5_000)}` }) }],
    ['a page on a disk', { a: ask({ mode: 'url', url: 'file:///etc/passwd' }) }],
  ])('MCP-42: %s is left alone', (_name, requests) => {
    const read = readInputRequests(requests);
    expect([read.questions.length, read.unanswerable.length]).toEqual([0, 1]);
  });

  it.each([undefined, null, [], 'x'])('%j asks nothing', (requests) => {
    expect(readInputRequests(requests as never)).toEqual({ questions: [], unanswerable: [] });
  });
});

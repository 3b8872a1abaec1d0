import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  carriedBy,
  contextOfRun,
  contextOfSpan,
  knownTraceparent,
  parseTraceparent,
} from '../../../lib/base/trace-context.js';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const runId = 'a'.repeat(32);

describe('a traceparent', () => {
  it('names a trace, a span, and whether the trace is recorded', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
    expect(parseTraceparent(`00-${traceId}-${spanId}-02`)).toEqual({ traceId, spanId, isSampled: false });
  });

  it('of a later version is read as far as it is known, and kept in our version', () => {
    expect(knownTraceparent(`cc-${traceId}-${spanId}-03-what-follows`)).toBe(`00-${traceId}-${spanId}-01`);
  });

  it.each([
    ['nothing', undefined],
    ['text', 'trace me'],
    ['a version that is none', `ff-${traceId}-${spanId}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['a tail', `00-${traceId}-${spanId}-01-more`],
    ['two headers', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['a line break', `00-${traceId}-${spanId}-01\n`],
  ])('is ignored if it is %s', (_, text) => {
    expect(knownTraceparent(text)).toBeUndefined();
  });
});

describe('the trace of a run', () => {
  it('is a function of its id, with nothing stored, if no context came with the start', () => {
    const context = contextOfRun(digest, { runId });
    expect(context).toEqual(contextOfRun(digest, { runId }));
    expect(context.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(context.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(contextOfRun(digest, { runId: 'b'.repeat(32) }).traceId).not.toBe(context.traceId);
    expect(carriedBy(digest, { runId })).toBeUndefined();
  });

  it('is that of the context of its start, and found again from what its waits carry', () => {
    const run = { runId, traceparent: `00-${traceId}-${spanId}-00` };
    const context = contextOfRun(digest, run);
    expect(context).toMatchObject({ traceId, isSampled: false });
    expect(context.spanId).not.toBe(spanId);
    expect(contextOfRun(digest, { runId, traceparent: carriedBy(digest, run) })).toEqual(context);
  });

  it('is its own if the run continues another one, for its waits too', () => {
    const run = { runId, traceparent: `00-${traceId}-${spanId}-01`, previousRunId: 'b'.repeat(32) };
    const context = contextOfRun(digest, run);
    expect(context.traceId).toBe(contextOfRun(digest, { runId }).traceId);
    expect(contextOfRun(digest, { runId, traceparent: carriedBy(digest, run) })).toEqual(context);
  });

  it('has an id for each span, by what the span is about', () => {
    const ids = ['wait 1', 'wait 2', 'start 1 1'].map((about) => contextOfSpan(digest, { runId }, about).spanId);
    expect(new Set([...ids, contextOfRun(digest, { runId }).spanId]).size).toBe(4);
  });
});

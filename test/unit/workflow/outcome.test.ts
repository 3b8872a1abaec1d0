import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import type { RemoteOutcome } from '../../../lib/workflow/outcome.js';
import { artifactsOf, dataOf, textOf } from '../../../lib/workflow/outcome.js';

function anOutcome(result: JsonValue): RemoteOutcome {
  return { result, isError: false, server: 's' };
}

const tool = anOutcome({
  content: [
    { type: 'text', text: 'one' },
    { type: 'image', data: 'aGk=' },
    { type: 'text', text: 'two' },
  ],
  structuredContent: { rows: 412 },
});
const task = anOutcome({
  id: 'task-1',
  status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'done' }] } },
  artifacts: [{ artifactId: 'a1', parts: [{ text: 'quote' }, { data: { price: 5 } }] }],
});

describe('what an outcome says', () => {
  it('textOf joins the texts of a tool result', () => {
    expect(textOf(tool)).toBe('one\ntwo');
  });

  it('textOf reads the artifacts of a task, else its message', () => {
    expect(textOf(task)).toBe('quote');
    expect(textOf(anOutcome({ id: 't', status: { message: { parts: [{ text: 'done' }] } } }))).toBe('done');
    expect(textOf(anOutcome({ messageId: 'm', parts: [{ text: 'hello' }] }))).toBe('hello');
  });

  it('dataOf reads structured content and data parts, and takes no image for data', () => {
    expect(dataOf(tool)).toEqual({ rows: 412 });
    expect(dataOf(task)).toEqual({ price: 5 });
    expect(dataOf(anOutcome({ content: [{ type: 'image', data: 'aGk=' }] }))).toBeUndefined();
  });

  it('artifactsOf gives the artifacts of a task and nothing of a tool', () => {
    expect(artifactsOf(task)).toHaveLength(1);
    expect(artifactsOf(tool)).toEqual([]);
  });

  it.each<[JsonValue]>([
    [null],
    ['text'],
    [[]],
    [{}],
    [{ content: 'no list' }],
    [{ artifacts: [1, null] }],
    [{ status: null }],
  ])('is nothing for %j', (result) => {
    expect([textOf(anOutcome(result)), dataOf(anOutcome(result)), artifactsOf(anOutcome(result))]).toEqual([
      '',
      undefined,
      [],
    ]);
  });
});

import { expect, it } from 'vitest';
import { toolPage } from '../../../lib/serve/mcp/tools.js';
import { handleText } from '../../../lib/serve/mcp/run-handle.js';
import type { ServedTask } from '../../../lib/serve/task/served-task.js';
import { read } from './pages.js';

const text = read('docs/serving.md').replaceAll(/\n> /g, '\n').replaceAll(/\s+/g, ' ');

const message = { messageId: 'm', role: 'agent', parts: [{ text: 'Reading the bookings' }] };
const task = { taskId: '4f…', skill: 'report', status: { state: 'working', message } } as unknown as ServedTask;

it('the page on serving has the text of a handle', () => {
  expect(text).toContain(handleText(task));
});

it('the page on serving has the text of a run that asks', () => {
  const question = { key: 'month', message: 'Which month?', schema: { type: 'string' } };
  const asking = { ...task, questions: [question] } as unknown as ServedTask;
  expect(text).toContain(handleText(asking).replaceAll(/\s+/g, ' '));
});

it('the page on serving has the description of each tool for runs', () => {
  const serve = { agent: { name: 'Desk', description: 'd' }, skills: { report: { description: 'r' } } };
  const { tools } = toolPage({ serve, workflows: new Map() } as never, '2026-07-28', undefined);
  const described = (tools as { readonly name: string; readonly description: string }[]).slice(1);
  expect(described).toHaveLength(5);
  for (const { name, description } of described) expect(text).toContain(`| \`${name}\` | ${description} |`);
});

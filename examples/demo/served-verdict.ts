import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { CallerResult } from './caller.js';

const chunks = ['2026-10-01;4711;100.00', '2026-10-02;4711;200.00', '2026-10-03;4711;300.00'];
const expected = { month: '2026-10', costCentre: 4711, pages: chunks.length };
/** The step that counts the pages, and a step for each page. */
const stepsExpected = 1 + chunks.length;

/** Returns what went wrong, given what the caller has and how many steps the history holds. */
export function problemsOfServed(
  { state, asked, broken, chunks: came, result }: CallerResult,
  steps: number,
): readonly string[] {
  const problems: string[] = [];
  if (state !== 'completed') problems.push(`the task is ${state}, not completed`);
  if (!isDeepStrictEqual(result, expected)) problems.push(`the result is ${JSON.stringify(result)}`);
  if (!isDeepStrictEqual(came, chunks)) problems.push(`the pieces of the artifact are ${JSON.stringify(came)}`);
  if (asked !== 1) problems.push(`the caller was asked ${asked} times, not once`);
  if (broken === 0) problems.push('no stream broke, so the crash proves nothing');
  if (steps !== stepsExpected) problems.push(`${steps} steps were recorded, not ${stepsExpected}`);
  return problems;
}

const history = z.object({ events: z.array(z.object({ type: z.string() })) });

/** Returns how many steps of a run its history holds. */
export async function stepsIn(url: string, runId: string): Promise<number> {
  const response = await fetch(new URL(`/runs/${runId}/history`, url));
  const { events } = history.parse(await response.json());
  return events.filter(({ type }) => type === 'StepCompleted').length;
}

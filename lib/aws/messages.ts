import * as z from 'zod/mini';
import { isRunId, isWaitId } from '../base/ids.js';
import type { StartMessage, StepMessage, TurnMessage, WorkMessage } from '../queue/queue.js';

// Bodies as a queue hands them back. Unknown fields are ignored: a newer version may have sent them.

const runId = z.string().check(z.refine(isRunId));
const waitId = z.string().check(z.refine(isWaitId));
const instantMs = z.number().check(z.int(), z.nonnegative());

// Of a kind that is not known yet: the turn looks at all.
const news = z.catch(
  z.optional(z.array(z.union([z.object({ waitId }), z.object({ inboxId: z.string() })]))),
  undefined,
);
const count = z.number().check(z.int(), z.positive());
// A hint: without it a start counts as one that its process died of.
const unharmed = z.catch(z.optional(z.array(z.object({ waitId, attempt: count, begun: count }))), undefined);
const turnMessage = z.object({ runId, news, unharmed });

const stepMessage = z.object({
  runId,
  waitId,
  dueAtMs: instantMs,
  unharmed: z.catch(z.optional(z.string()), undefined),
});

const startMessage = z.object({ kind: z.literal('start'), runId, waitId, dueAtMs: instantMs });

const workMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('wake'), runId, dueAtMs: instantMs }),
  z.object({
    kind: z.literal('poll'),
    runId,
    waitId,
    server: z.optional(z.string()),
    dueAtMs: z.optional(instantMs),
    hop: z.optional(z.object({ count: z.number().check(z.int(), z.positive()), claimedDueAtMs: instantMs })),
  }),
]);

/** Undefined for a body that is no turn message. */
export function parseTurnMessage(body: string): TurnMessage | undefined {
  const parsed = turnMessage.safeParse(fromJson(body));
  return parsed.success ? (withoutUndefined(parsed.data) as TurnMessage) : undefined;
}

/** Undefined for a body that is no step message. */
export function parseStepMessage(body: string): StepMessage | undefined {
  const parsed = stepMessage.safeParse(fromJson(body));
  return parsed.success ? (withoutUndefined(parsed.data) as StepMessage) : undefined;
}

/** Undefined for a body that is no message of the queue of starts. */
export function parseStartMessage(body: string): StartMessage | undefined {
  const parsed = startMessage.safeParse(fromJson(body));
  return parsed.success ? parsed.data : undefined;
}

/** Undefined for a body that is no work message. */
export function parseWorkMessage(body: string): WorkMessage | undefined {
  const parsed = workMessage.safeParse(fromJson(body));
  return parsed.success ? (withoutUndefined(parsed.data) as WorkMessage) : undefined;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

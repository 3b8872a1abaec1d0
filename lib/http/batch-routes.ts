import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import pLimit from 'p-limit';
import * as z from 'zod/mini';
import { EngineError, hasCode } from '../base/errors.js';
import { inboundCompleteMaxBytes } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { json, problemAnswer } from './problem.js';
import type { RelayProof } from './relay-proof.js';
import { type Capability, proofsRequired, settlements } from './relay-routes.js';
import { bodyIn, noQueryIn } from './request-parts.js';
import { completeBody, failBody, heartbeatBody } from './requests.js';

// Handler of the route by which a relay settles many waits with one request.

/** Each entry takes up to three requests to the table and one to a queue; all must be done within the request. */
const entriesMax = 100;
const entriesInParallel = 8;
/** No entry is begun later. The gateway waits for 30 s, and a request to a table that hangs takes up to 18 s. */
const beginWithinMs = 10_000;

const entry = z
  .strictObject({
    token: z.string(),
    complete: z.optional(completeBody),
    fail: z.optional(failBody),
    heartbeat: z.optional(heartbeatBody),
  })
  .check(
    z.refine(
      ({ complete, fail, heartbeat }) => [complete, fail, heartbeat].filter((body) => body !== undefined).length === 1,
      'takes one of complete, fail and heartbeat',
    ),
  );
type Entry = z.infer<typeof entry>;

const batchBody = z.strictObject({ settlements: z.array(entry).check(z.minLength(1), z.maxLength(entriesMax)) });

/** Answer to one entry: status and body of the route for one settlement. `retryable`: to be sent again as it is. */
type Result = { readonly status: number; readonly retryable?: true } & Readonly<Record<string, unknown>>;

/**
 * Settles each entry by itself, and answers in their order. Entries for one wait are settled in their order; after one
 * that is to be sent again, the later ones get its answer, so that a repetition has the same effect.
 */
export async function settle(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  let bytes: Uint8Array = new Uint8Array();
  const keep = (body: Uint8Array): Promise<void> => {
    bytes = body;
    return Promise.resolve();
  };
  const rule = { maxBytes: inboundCompleteMaxBytes, verify: keep };
  const { settlements: entries } = await bodyIn(context, batchBody, rule);
  const proofs = proofsRequired(deps) ? await proofsFor(deps, context, bytes) : undefined;
  const waits = entries.map(({ token }) => waitOf(deps, token));
  const forged = waits.filter((wait) => wait === undefined).length;
  if (forged > 0) deps.metrics?.put('PushAuthFailures', forged);
  const beginUntilMs = deps.clock.nowMs() + beginWithinMs;
  const limit = pLimit(entriesInParallel);
  const lastOf = new Map<string, Promise<Result>>();
  const results = await Promise.all(
    entries.map((given, at) => {
      const wait = waits[at];
      const result = after(wait === undefined ? undefined : lastOf.get(wait), () =>
        limit(() => answerTo(deps, given, { beginUntilMs, proofs })),
      );
      if (wait !== undefined) lastOf.set(wait, result);
      return result;
    }),
  );
  if (results.some(({ status }) => status === 500)) deps.metrics?.put('HandlerFailures', 1);
  return json(200, { results });
}

interface Batch {
  readonly beginUntilMs: number;
  readonly proofs: RelayProof | undefined;
}

/** Returns the check of the sender: one proof covers the whole body. */
async function proofsFor(deps: Deps, context: Context, body: Uint8Array): Promise<RelayProof> {
  const { relayProof } = await import('./relay-proof.js');
  return relayProof(deps, context, body);
}

/** Returns the wait that a token is for; undefined if this deployment did not issue the token. */
function waitOf(deps: Deps, token: string): string | undefined {
  try {
    const { runId, waitId } = deps.tokens.parseSettleToken(token);
    return `${runId}#${waitId}`;
  } catch (error) {
    if (hasCode(error, 'TOKEN_INVALID')) return undefined;
    throw error;
  }
}

async function after(earlier: Promise<Result> | undefined, settleNext: () => Promise<Result>): Promise<Result> {
  const before = await earlier;
  return before?.retryable === true ? before : settleNext();
}

async function answerTo(deps: Deps, given: Entry, { beginUntilMs, proofs }: Batch): Promise<Result> {
  try {
    if (deps.clock.nowMs() > beginUntilMs) throw new EngineError('STORE_UNAVAILABLE', 'no time is left in this batch');
    return { status: 200, ...(await settled(deps, given, await proofs?.of(given.token))) };
  } catch (error) {
    const { status, body } = problemAnswer(error, deps.log);
    return { status, ...defined({ retryable: status >= 500 ? true : undefined }), ...body };
  }
}

async function settled(
  deps: Deps,
  { token, complete, fail, heartbeat }: Entry,
  proof: string | undefined,
): Promise<object> {
  const capability: Capability = { token, proof };
  if (complete !== undefined) return settlements.complete(deps, capability, complete);
  if (fail !== undefined) return settlements.fail(deps, capability, fail);
  if (heartbeat !== undefined) return settlements.heartbeat(deps, capability, heartbeat);
  throw new EngineError('INPUT_INVALID', 'the entry asks for nothing');
}

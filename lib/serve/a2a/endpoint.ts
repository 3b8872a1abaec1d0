import type { JsonObject } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { Clock } from '../../base/time.js';
import type { AgentExtension } from '../../workflow/serve.js';
import type { Admitted } from '../admitted.js';
import type { A2aVersion, Call } from './call.js';
import { type A2aProblem, a2aProblem, type Asked } from './errors.js';
import type { Operation, StreamAnswer, StreamEvent } from './operation.js';
import type { Visit } from './perform.js';
import { activatedBy, callOf, requireExtensions } from './read-call.js';
import { sseEvent, sseResponse, type Timer } from '../sse.js';
import { stopOf } from '../stop-of.js';

/** An endpoint of an agent, as the doors of both bindings see it. */
export interface Endpoint {
  /** The skill that messages are for, if the endpoint is that of a skill. */
  readonly skill?: string | undefined;
  /** URIs of all extensions of the agent. */
  readonly extensionUris: readonly string[];
  /** Extensions that the app has named itself. */
  readonly extensions: readonly AgentExtension[];
  readonly extendedCard?: ((version: A2aVersion) => Promise<JsonObject>) | undefined;
  /** @throws EngineError `UNAUTHORIZED`, `FORBIDDEN` */
  readonly admit: () => Promise<Admitted>;
  readonly clock: Clock;
  readonly log: Log;
  readonly timer: Timer;
  readonly blockMaxMs: number;
  readonly streamMaxMs: number;
  readonly keepAliveMs: number;
}

/** Returns what a request says besides its parameters. @throws EngineError `INPUT_INVALID`; A2aError */
export function callAt(request: Request, endpoint: Endpoint, version: A2aVersion): Call {
  const extensions = activatedBy(request, endpoint.extensionUris);
  requireExtensions(extensions, endpoint.extensions);
  return callOf(request, { version, extensions, skill: endpoint.skill });
}

/** Returns what an operation is performed with, and what ends it. */
export function visitOf(
  request: Request,
  endpoint: Endpoint,
  { tasks, pushConfigs, openStream }: Admitted,
): { readonly visit: Visit; readonly stop: AbortController } {
  const stop = stopOf(request);
  const { extendedCard, clock, blockMaxMs } = endpoint;
  const end = (): void => {
    stop.abort();
  };
  const visit = { tasks, pushConfigs, openStream, extendedCard, clock, blockMaxMs, signal: stop.signal, end };
  return { visit, stop };
}

export function askedBy({ kind }: Operation): Asked {
  return kind === 'cancel' ? 'cancel' : 'other';
}

/** How a door writes the events of a stream. */
export interface EventTexts {
  readonly event: (event: StreamEvent) => JsonObject;
  readonly error: (problem: A2aProblem) => string;
}

/** Responds with a stream. An error in the midst of it is its last event. */
export function streamed(
  { events, place }: StreamAnswer,
  texts: EventTexts,
  endpoint: Endpoint,
  { stop, headers }: { readonly stop: AbortController; readonly headers: Readonly<Record<string, string>> },
): Response {
  const { timer, keepAliveMs, streamMaxMs } = endpoint;
  return sseResponse(textsOf(events, texts, endpoint.log), { timer, keepAliveMs, streamMaxMs, stop, place, headers });
}

async function* textsOf(
  events: StreamAnswer['events'],
  texts: EventTexts,
  log: Log,
): AsyncGenerator<string, undefined> {
  try {
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      const { followed } = next.value;
      const id = followed.kind === 'snapshot' ? followed.task.generation : followed.generation;
      yield sseEvent(texts.event(next.value), { id });
    }
  } catch (error) {
    yield texts.error(a2aProblem(error, 'other', log));
  } finally {
    await events.return?.();
  }
  return undefined;
}

/** Returns the headers of an answer: the extensions that were activated, as clients of its revision read them. */
export function answerHeaders({ version, extensions }: Pick<Call, 'version' | 'extensions'>): Record<string, string> {
  if (extensions.size === 0) return {};
  return { [version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']: [...extensions].join(', ') };
}

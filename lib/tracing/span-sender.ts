import { EngineError } from '../base/errors.js';
import type { TraceContext } from '../base/trace-context.js';
import type { Work } from '../operations/spans.js';
import type { Tracing } from '../workflow/tracing.js';
import { type SpanRecord, toSpan } from './span-records.js';

// Loaded late, and only if the app has `tracing`. OpenTelemetry itself comes from the app.

/** Numbers of OpenTelemetry's API. */
const kinds = { internal: 0, client: 2 } as const;
const errorStatus = 2;

interface Span {
  spanContext(): { readonly spanId: string };
  setStatus(status: object): unknown;
  end(endMs: number): void;
}

interface Tracer {
  startSpan(name: string, options: object, context: object): Span;
}

/**
 * Returns a function that passes the spans of some work to the provider of an app and has it send them. Their ids are
 * the engine's own, so the provider must be created with the id generator that it is given.
 * @throws EngineError `CONFIG_INVALID` if it was not
 */
export async function senderTo(
  tracing: Tracing,
  digest: (text: string) => string,
): Promise<(work: readonly Work[]) => Promise<void>> {
  let next: TraceContext | undefined;
  const idGenerator = {
    generateTraceId: () => next?.traceId ?? randomHex(32),
    generateSpanId: () => next?.spanId ?? randomHex(16),
  };
  const { provider, api } = await tracing({ idGenerator });
  const { trace, ROOT_CONTEXT } = api;
  const tracer = provider.getTracer('outwait') as Tracer;
  const pass = ({ context, parent, name, kind, startMs, endMs, attributes, links, error }: SpanRecord): void => {
    const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext(parent));
    const options = {
      kind: kinds[kind],
      startTime: startMs,
      attributes: { ...attributes },
      links: links.map((link) => ({ context: spanContext(link) })),
    };
    next = context;
    const span = tracer.startSpan(name, options, within);
    next = undefined;
    if (span.spanContext().spanId !== context.spanId)
      throw new EngineError(
        'CONFIG_INVALID',
        'tracing: the provider must be created with the idGenerator that it gets',
      );
    if (error !== undefined) span.setStatus({ code: errorStatus, message: error });
    span.end(endMs);
  };
  return async (work) => {
    for (const one of work) {
      const span = toSpan(digest, one);
      if (span !== undefined) pass(span);
    }
    await provider.forceFlush?.();
  };
}

function spanContext({ traceId, spanId, isSampled }: TraceContext) {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true };
}

/** Ids of spans that are not the engine's, such as those that an author makes with the same provider. */
function randomHex(digits: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(digits / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

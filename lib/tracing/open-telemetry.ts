import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type TracerProvider } from '@opentelemetry/api';
import { EngineError } from '../base/errors.js';
import type { TraceContext } from '../base/trace-context.js';
import type { Work } from '../operations/trace.js';
import type { Tracing } from '../workflow/tracing.js';
import { type SpanRecord, toSpan } from './span-records.js';

// Loaded late, and only if the app has `tracing`: nothing else imports OpenTelemetry.

/**
 * Returns a function that passes the spans of some work to the provider of an app and has it send them. Their ids are the engine's own,
 * so the provider must be created with the id generator that it is given.
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
  const provider = await tracing({ idGenerator });
  const tracer = (provider as TracerProvider).getTracer('outwait');
  const pass = ({ context, parent, name, kind, startMs, endMs, attributes, links, error }: SpanRecord): void => {
    const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext(parent));
    const options = {
      kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
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
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
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
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** Ids of spans that are not the engine's, such as those that an author makes with the same provider. */
function randomHex(digits: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(digits / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

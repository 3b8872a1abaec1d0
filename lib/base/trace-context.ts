// W3C Trace Context, and the ids of the engine's own spans. Pure.

/** SHA-256 in hex. */
type Digest = (text: string) => string;

/** A span to which others belong: a run, or a wait of it. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether the trace is recorded, as its first caller decided. */
  readonly isSampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a `traceparent`. Returns undefined if it is none: such a header is ignored, as its standard says. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, rest] = form.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags ?? '', 16) & 1) === 1 };
}

export function toTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** The fields of a run, or of a wait of it, that decide its trace. */
export interface Traced {
  readonly runId: string;
  /** Context in which the run was started, if any: of a caller, of its parent, or of the run that it continues. */
  readonly traceparent?: string | undefined;
  readonly previousRunId?: string | undefined;
}

/**
 * Returns the context of the span of a run. Nothing of it is stored but the context that came with the start: without
 * one, the trace id is a function of the run id. A run that continues another one has a trace of its own, since a chain
 * may be endless; its span is linked to that of the run before.
 */
export function contextOfRun(digest: Digest, run: Traced): TraceContext {
  const { runId } = run;
  const carried = parseTraceparent(run.traceparent);
  return {
    traceId:
      (run.previousRunId === undefined ? carried?.traceId : undefined) ?? digest(`trace of ${runId}`).slice(0, 32),
    spanId: spanIdOf(digest, runId, 'run'),
    isSampled: carried?.isSampled ?? true,
  };
}

/**
 * Returns the id of a span of a run. It is a function of what the span is about, so a retried turn or a repeated
 * attempt makes the same id.
 */
function spanIdOf(digest: Digest, runId: string, about: string): string {
  return digest(`span of ${runId}: ${about}`).slice(0, 16);
}

/**
 * Returns the context from which others find the trace of a run: its waits, and servers if no spans are recorded.
 * Undefined if the trace is a function of the id of the run.
 */
export function carriedBy(digest: Digest, run: Traced): string | undefined {
  const { traceparent, previousRunId } = run;
  return traceparent === undefined || previousRunId === undefined
    ? traceparent
    : toTraceparent(contextOfRun(digest, run));
}

/** Returns the context of a span of a run, by what it is about. */
export function contextOfSpan(digest: Digest, run: Traced, about: string): TraceContext {
  return { ...contextOfRun(digest, run), spanId: spanIdOf(digest, run.runId, about) };
}

/** Returns a `traceparent` in the form in which it is stored; undefined for anything else. */
export function knownTraceparent(text: string | undefined): string | undefined {
  const context = parseTraceparent(text);
  return context === undefined ? undefined : toTraceparent(context);
}

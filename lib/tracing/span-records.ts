import { defined } from '../base/defined.js';
import { contextOfRun, contextOfSpan, parseTraceparent, type TraceContext } from '../base/trace-context.js';
import type { Work } from '../operations/spans.js';
import { about } from '../operations/trace.js';

// Spans of the engine's work. Loaded late.

export interface SpanRecord {
  readonly context: TraceContext;
  readonly parent: TraceContext | undefined;
  /** Text of few values: words, and names of the configuration. */
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Other spans that this one follows from. */
  readonly links: readonly TraceContext[];
  readonly error: string | undefined;
}

/** Part of a span that depends on the kind of work. */
interface Particular {
  readonly about: string;
  readonly name: string;
  readonly kind?: SpanRecord['kind'];
  /** Subject of the parent. Default: the run. */
  readonly within?: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  readonly follows?: readonly string[];
  readonly from?: string | undefined;
}

/** Returns the span of some work; undefined if the trace of the run is not recorded. */
export function toSpan(digest: (text: string) => string, work: Work): SpanRecord | undefined {
  const ofRun = contextOfRun(digest, work.run);
  if (!ofRun.isSampled) return undefined;
  const { startMs, endMs, error } = work;
  const { name, kind = 'internal', attributes, ...refers } = particularOf(work);
  const contextOf = (what: string): TraceContext => contextOfSpan(digest, work.run, what);
  const common = {
    name,
    kind,
    startMs,
    endMs: Math.max(startMs, endMs),
    attributes: known({ run_id: work.run.runId, ...attributes }),
    error,
  };
  const from = parseTraceparent(refers.from);
  const links = [...(refers.follows ?? []).map(contextOf), ...(from === undefined ? [] : [from])];
  if (work.kind !== 'run')
    return {
      ...common,
      context: contextOf(refers.about),
      parent: refers.within === undefined ? ofRun : contextOf(refers.within),
      links,
    };
  // A run that continues another one has a trace of its own, linked to that of the run before.
  const carried = parseTraceparent(work.run.traceparent);
  return work.run.previousRunId === undefined
    ? { ...common, context: ofRun, parent: carried, links }
    : { ...common, context: ofRun, parent: undefined, links: carried === undefined ? [] : [carried] };
}

function particularOf(work: Work): Particular {
  switch (work.kind) {
    case 'run': {
      const { workflow, version } = work.run;
      return { about: 'run', name: `run ${workflow}`, attributes: { workflow, version, status: work.end } };
    }
    case 'turn': {
      const { workflow } = work.run;
      return {
        // A turn that failed and is retried is the same one: that of its first commit.
        about: `turn ${work.firstSeq}`,
        name: `turn ${workflow}`,
        attributes: { workflow, commits: work.commits },
        follows: work.settled.map(about.wait),
      };
    }
    case 'step': {
      const { waitId, attempt, name: step, result } = work;
      return {
        about: `step ${waitId} ${attempt}`,
        name: `step ${step}`,
        attributes: { wait_id: waitId, step, attempt, result },
        // The item of a long step has a span of its own.
        ...defined({ within: work.isLong ? about.wait(waitId) : undefined }),
      };
    }
    case 'start': {
      const { waitId, attempt, server, result } = work;
      return {
        about: about.start(waitId, attempt),
        name: `start ${server}`,
        kind: 'client',
        within: about.wait(waitId),
        attributes: { wait_id: waitId, server, attempt, result },
      };
    }
    case 'poll': {
      const { waitId, attempt, server, result, claimedDueAtMs, hop } = work;
      return {
        about: `poll ${waitId} ${claimedDueAtMs} ${hop}`,
        name: `poll ${server}`,
        kind: 'client',
        within: about.wait(waitId),
        attributes: { wait_id: waitId, server, result },
        follows: [about.start(waitId, attempt)],
        from: work.traceparent,
      };
    }
    case 'settlement': {
      const { waitId, attempt, server, by, outcome, isStarted } = work;
      return {
        about: about.wait(waitId),
        name: 'settlement',
        attributes: { wait_id: waitId, server, settled_by: by, outcome },
        follows: isStarted ? [about.start(waitId, attempt)] : [],
      };
    }
  }
}

/** Returns the attributes under their full names, without those that are unknown. */
function known(attributes: Readonly<Record<string, string | number | undefined>>): SpanRecord['attributes'] {
  const entries = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [[`outwait.${name}`, value] as const],
  );
  return Object.fromEntries(entries);
}

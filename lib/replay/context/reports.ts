import { cutUtf8, utf8Bytes, type JsonValue } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { WorkflowContext } from '../../workflow/context.js';
import { json } from './arguments.js';
import { checkTurn, type ContextHost } from './host.js';

/** Limit of `ctx.progress`; longer progress is truncated. */
const progressMaxBytes = 1024;

/** Creates `ctx.onQuery`, `ctx.progress` and `ctx.log`: what the workflow shows of itself. */
export function reports(host: ContextHost): Pick<WorkflowContext, 'onQuery' | 'progress' | 'log'> {
  /** Logs only when live: what a replay would log was logged before. */
  const write =
    (level: keyof Log): Log['info'] =>
    (event, fields) => {
      if (host.position.isLive) host.log[level](event, fields);
    };
  return {
    onQuery(name, handler) {
      host.queries.set(name, handler);
    },

    progress(progress) {
      checkTurn(host, 'progress');
      host.derived.reportProgress(cutProgress(json(progress, 'progress')));
    },

    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
  };
}

/** Returns progress that is too long as truncated text. */
function cutProgress(progress: JsonValue): JsonValue {
  const text = typeof progress === 'string' ? progress : JSON.stringify(progress);
  return utf8Bytes(text) <= progressMaxBytes ? progress : cutUtf8(text, progressMaxBytes);
}

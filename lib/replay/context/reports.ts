import { cutUtf8, utf8Bytes, type JsonValue } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { WorkflowContext } from '../../workflow/context.js';
import { json } from './arguments.js';
import { checkTurn, type ContextHost } from './host.js';

/** Text of `ctx.progress`, cut. */
const progressMaxBytes = 1024;

/** `ctx.onQuery`, `ctx.progress`, `ctx.log`: what the workflow shows of itself. */
export function reports(host: ContextHost): Pick<WorkflowContext, 'onQuery' | 'progress' | 'log'> {
  /** A replay has said it before. */
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

/** What is too long is shown as text, cut. */
function cutProgress(progress: JsonValue): JsonValue {
  const text = typeof progress === 'string' ? progress : JSON.stringify(progress);
  return utf8Bytes(text) <= progressMaxBytes ? progress : cutUtf8(text, progressMaxBytes);
}

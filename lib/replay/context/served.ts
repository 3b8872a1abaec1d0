import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { cutUtf8, isJsonObject } from '../../base/json.js';
import { failureTextBytes } from '../../base/limits.js';
import { isList } from '../../base/list.js';
import { messageSignal, type Part, type TaskMessage } from '../../history/task-content.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { ArtifactUpdate, ServedContext } from '../../workflow/served.js';
import { checkName, invalid, json } from './arguments.js';
import { checkTurn, type ContextHost } from './host.js';

/** Largest artifact, or chunk of one. */
const artifactMaxBytes = 64 * 1024;

/** Creates what a served workflow has besides: its task, its caller and their conversation. */
export function served(host: ContextHost, { signal }: Pick<WorkflowContext, 'signal'>): ServedContext {
  const { runId, start } = host;
  const { task, owner, tenant } = start;
  return {
    ...defined({
      task: task && {
        taskId: task.firstRunId ?? runId,
        contextId: task.contextId,
        messageId: task.message.messageId,
        ...defined({ metadata: task.metadata }),
      },
      caller: owner === undefined ? undefined : { id: owner, ...defined({ tenant }) },
    }),

    artifact(update) {
      checkTurn(host, 'artifact');
      const { artifactId, name, description, metadata, append, lastChunk } = update;
      checkName(artifactId, 'the id of an artifact');
      const details = defined({ name, description, metadata });
      const artifact = { artifactId, ...(json(details, 'an artifact') as typeof details), parts: partsOf(update) };
      checkJsonBytes('an artifact is', jsonBytes(artifact), artifactMaxBytes);
      if (task === undefined) return;
      const marks = { append: append === true ? true : undefined, lastChunk: lastChunk === true ? true : undefined };
      host.derived.updateArtifact({ artifact, ...(defined(marks) as { append?: true; lastChunk?: true }) });
    },

    async *messages() {
      for (;;) yield (await signal(messageSignal)) as unknown as TaskMessage;
    },

    reject(reason) {
      checkTurn(host, 'reject');
      throw new EngineError(
        'TASK_REJECTED',
        cutUtf8(textOf(reason, 'the reason of a rejection').toWellFormed(), failureTextBytes),
      );
    },
  };
}

/** Returns the content of an artifact as parts. @throws EngineError `INPUT_INVALID` */
function partsOf({ text, data, parts }: ArtifactUpdate): readonly Part[] {
  if ([text, data, parts].filter((given) => given !== undefined).length !== 1)
    throw invalid('an artifact must have one of text, data and parts');
  if (text !== undefined) return [{ text: textOf(text, 'the text of an artifact') }];
  if (data !== undefined) return [{ data: json(data, 'the data of an artifact') }];
  const list = json(parts, 'the parts of an artifact');
  if (!isList(list) || list.length === 0 || !list.every(isPart))
    throw invalid('the parts of an artifact must be a list of parts, each with one of text, data, raw and url');
  return list as unknown as readonly Part[];
}

/** JavaScript may pass anything. */
function textOf(given: unknown, what: string): string {
  if (typeof given === 'string') return given;
  throw invalid(`${what} must be a string, got ${typeof given}`);
}

function isPart(given: unknown): boolean {
  if (!isJsonObject(given)) return false;
  const contents = (['text', 'data', 'raw', 'url'] as const).filter((kind) => given[kind] !== undefined);
  return contents.length === 1 && contents.every((kind) => kind === 'data' || typeof given[kind] === 'string');
}

// What an agent says of a task, read from A2A 1.0. Pure.

import { sequenceExtension } from '../../base/a2a-extensions.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';

/** A task as it is, or a change of it. */
export type TaskNews = { readonly generation: number } & (
  | { readonly kind: 'task'; readonly taskId: string; readonly contextId: string; readonly state: string }
  | { readonly kind: 'status'; readonly state: string; readonly parts: readonly JsonObject[] }
  | {
      readonly kind: 'artifact';
      readonly artifactId: string;
      readonly parts: readonly JsonObject[];
      readonly append: boolean;
      readonly isLast: boolean;
    }
  | { readonly kind: 'unknown' }
);

/** Reads a task. */
export function newsOfTask(task: JsonObject): Extract<TaskNews, { kind: 'task' }> {
  const { id, contextId, status } = task;
  const state = isJsonObject(status) ? status['state'] : undefined;
  return {
    kind: 'task',
    taskId: textOr(id),
    contextId: textOr(contextId),
    state: stateOf(state),
    generation: generationOf(task),
  };
}

/** Reads a StreamResponse. */
export function newsIn({ task, statusUpdate, artifactUpdate }: JsonObject): TaskNews {
  if (isJsonObject(task)) return newsOfTask(task);
  if (isJsonObject(statusUpdate)) {
    const status = isJsonObject(statusUpdate['status']) ? statusUpdate['status'] : {};
    const generation = generationOf(statusUpdate);
    return { kind: 'status', state: stateOf(status['state']), parts: partsOf(status['message']), generation };
  }
  if (!isJsonObject(artifactUpdate)) return { kind: 'unknown', generation: 0 };
  const { artifact, append, lastChunk } = artifactUpdate;
  return {
    kind: 'artifact',
    artifactId: isJsonObject(artifact) ? textOr(artifact['artifactId']) : '',
    parts: partsOf(artifact),
    append: append === true,
    isLast: lastChunk === true,
    generation: generationOf(artifactUpdate),
  };
}

const finalStates: readonly string[] = ['completed', 'failed', 'canceled', 'rejected'];

export function isFinalState(state: string): boolean {
  return finalStates.includes(state);
}

/** Returns a state in short: `input-required` for `TASK_STATE_INPUT_REQUIRED`. */
function stateOf(state: JsonValue | undefined): string {
  return textOr(state)
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

function generationOf({ metadata }: JsonObject): number {
  const sequence = isJsonObject(metadata) ? metadata[sequenceExtension] : undefined;
  const generation = isJsonObject(sequence) ? sequence['generation'] : undefined;
  return typeof generation === 'number' ? generation : 0;
}

function partsOf(holder: JsonValue | undefined): readonly JsonObject[] {
  const parts = isJsonObject(holder) ? holder['parts'] : undefined;
  return Array.isArray(parts) ? (parts as readonly JsonValue[]).filter(isJsonObject) : [];
}

function textOr(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

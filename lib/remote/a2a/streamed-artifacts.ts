import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';

/** One `artifactUpdate`: a whole artifact, or parts to put behind those that are there (section 4.2.2). */
export interface ArtifactChunk {
  readonly artifact: JsonObject;
  readonly append: boolean;
}

/**
 * The artifacts of a task after `chunk`: it replaces the artifact of its id, or its parts follow those that are there. A
 * chunk for an artifact that nobody has seen is the first of it. Parts are put in a row, their texts are not joined.
 */
export function withChunk(
  artifacts: readonly JsonObject[],
  { artifact, append }: ArtifactChunk,
): readonly JsonObject[] {
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact['artifactId']);
  const before = artifacts[at];
  if (before === undefined) return [...artifacts, artifact];
  return artifacts.with(at, append ? { ...before, parts: [...partsOf(before), ...partsOf(artifact)] } : artifact);
}

function partsOf({ parts }: JsonObject): readonly JsonValue[] {
  return Array.isArray(parts) ? (parts as readonly JsonValue[]) : [];
}

/** The artifacts in a task. */
export function artifactsIn({ artifacts }: JsonObject): readonly JsonObject[] {
  return Array.isArray(artifacts) ? (artifacts as readonly JsonValue[]).filter(isJsonObject) : [];
}

import { sequenceExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { Call } from './call.js';
import { givenNumber } from './params.js';

/** Returns where a subscriber or a waiting reader goes on: only the extension has a cursor, the protocol begins with a snapshot. */
export function cursorOf(
  inParams: number | string | null | undefined,
  { extensions, lastEventId }: Pick<Call, 'extensions' | 'lastEventId'>,
): { readonly afterGeneration?: number } {
  if (!extensions.has(sequenceExtension)) return {};
  const inHeader = lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined;
  return defined({ afterGeneration: givenNumber(inParams) ?? inHeader });
}

/** Returns the metadata that tell a generation, for a client that activates the extension. */
export function sequenceOf(generation: number, { extensions }: Call): { readonly metadata?: JsonObject } {
  return extensions.has(sequenceExtension) ? { metadata: { [sequenceExtension]: { generation } } } : {};
}

import type { JsonObject } from '../../base/json.js';
import type { RemoteRequest } from '../transport.js';
import { problemWithPart } from './normal-form.js';

/** Returns the parts of the message for a request. */
export function partsOf(request: RemoteRequest): readonly JsonObject[] {
  switch (request.kind) {
    case 'tool':
      throw new TypeError('an A2A agent takes no tool');
    case 'skill':
      // A2A skills have no input schema; one data part with name and arguments is a convention.
      return [{ data: { skill: request.skill, arguments: request.arguments }, mediaType: 'application/json' }];
    case 'message':
      return request.parts;
  }
}

/** Returns what is wrong with the parts of a message, or undefined if nothing is. */
export function problemWithParts(parts: readonly JsonObject[]): string | undefined {
  if (parts.length === 0) return 'a message needs at least one part';
  for (const [index, part] of parts.entries()) {
    const problem = problemWithPart(part);
    if (problem !== undefined) return `part ${index} of the message ${problem}`;
  }
  return undefined;
}

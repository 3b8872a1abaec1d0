import type { JsonObject } from '../../base/json.js';
import type { RemoteRequest } from '../transport.js';
import { problemWithPart } from './normal-form.js';

/** The parts of the message that a request becomes. */
export function partsOf(request: RemoteRequest): readonly JsonObject[] {
  switch (request.kind) {
    case 'tool':
      throw new TypeError('an A2A agent takes no tool');
    case 'skill':
      // Skills of A2A have no input schema; one data part with both is a convention.
      return [{ data: { skill: request.skill, arguments: request.arguments }, mediaType: 'application/json' }];
    case 'message':
      return request.parts;
  }
}

/** What is wrong with the parts of a message; undefined for nothing. */
export function problemWithParts(parts: readonly JsonObject[]): string | undefined {
  if (parts.length === 0) return 'a message needs at least one part';
  for (const [index, part] of parts.entries()) {
    const problem = problemWithPart(part);
    if (problem !== undefined) return `part ${index} of the message ${problem}`;
  }
  return undefined;
}

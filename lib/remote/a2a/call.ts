import type { HttpCall, WireCall } from '../endpoint/endpoint.js';
import { httpJsonCall } from './http-json-1.0.js';
import type { A2aInterface } from './interface.js';
import type { A2aOperation } from './operation.js';
import { callFor03 } from './wire-0.3.js';
import { callFor10 } from './wire-1.0.js';

/** Returns the call for `operation` on the interface `to`, with `extensions` activated. */
export function callFor(to: A2aInterface, operation: A2aOperation, extensions: readonly string[]): WireCall | HttpCall {
  if (to.binding === 'HTTP+JSON') return httpJsonCall(operation, to, extensions);
  switch (to.wire) {
    case '1.0':
      return callFor10(operation, to, extensions);
    case '0.3':
      return callFor03(operation, extensions);
  }
}

/**
 * Whether a URL can hold the task id, which must be well-formed text. Such ids are refused now, but older handles may
 * have one.
 */
export function canBeNamed(operation: A2aOperation, { binding }: A2aInterface): boolean {
  return binding !== 'HTTP+JSON' || !('taskId' in operation) || operation.taskId.isWellFormed();
}

// Requests of A2A 0.3 over JSON-RPC. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { WireCall } from '../endpoint/endpoint.js';
import type { PushRegistration } from '../transport.js';
import { partFor03 } from './normal-form.js';
import { acceptedOutputModes, eventsOrJson, getParams, type A2aOperation } from './operation.js';

/**
 * Returns the call for an operation.
 * @throws TypeError for a list of tasks, which 0.3 does not have
 */
export function callFor03(operation: A2aOperation, extensions: readonly string[]): WireCall {
  const activated = extensions.length === 0 ? {} : { 'x-a2a-extensions': extensions.join(', ') };
  const call = (method: string, params: JsonObject, more: Readonly<Record<string, string>> = {}): WireCall => ({
    method,
    params,
    headers: { 'content-type': 'application/json', accept: 'application/json', ...activated, ...more },
  });
  switch (operation.kind) {
    case 'send': {
      const { idempotencyKey, traceparent, overStream } = operation;
      const [method, accept] =
        overStream === true ? ['message/stream', eventsOrJson] : ['message/send', 'application/json'];
      return call(method, sendParams(operation), {
        accept,
        'idempotency-key': idempotencyKey,
        ...defined({ traceparent }),
      });
    }
    case 'get':
      return call('tasks/get', getParams(operation));
    case 'cancel':
      return call('tasks/cancel', { id: operation.taskId });
    case 'list':
      throw new TypeError('A2A 0.3 has no list of tasks');
    case 'subscribe':
      return call('tasks/resubscribe', { id: operation.taskId }, { accept: 'text/event-stream' });
    case 'forget_push': {
      const { taskId, configId } = operation;
      return call('tasks/pushNotificationConfig/delete', { id: taskId, pushNotificationConfigId: configId });
    }
    case 'extended_card':
      return call('agent/getAuthenticatedExtendedCard', {});
  }
}

/** Asks not to block: by default servers wait for the end of the task. */
function sendParams({ message, push, ifGenerationMatch }: Extract<A2aOperation, { kind: 'send' }>): JsonObject {
  const { parts, ...others } = message;
  return {
    message: { kind: 'message', ...others, role: 'user', parts: parts.map(partFor03) },
    configuration: {
      blocking: false,
      historyLength: 0,
      acceptedOutputModes,
      ...defined({
        pushNotificationConfig: push === undefined ? undefined : pushConfig03(push),
        ifGenerationMatch: ifGenerationMatch?.toString(),
      }),
    },
  };
}

/** Gives the secret in both places: agents of 0.3 echo the token. */
function pushConfig03({ id, url, secret }: PushRegistration): JsonObject {
  if (secret === undefined) return { id, url };
  return { id, url, token: secret, authentication: { schemes: ['Bearer'], credentials: secret } };
}

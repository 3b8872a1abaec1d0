// Requests of A2A 1.0 over JSON-RPC. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { WireCall } from '../endpoint/endpoint.js';
import type { PushRegistration } from '../transport.js';
import type { A2aInterface } from './interface.js';
import { acceptedOutputModes, eventsOrJson, getParams, listParams, type A2aOperation } from './operation.js';

export function callFor10(operation: A2aOperation, { tenant }: A2aInterface, extensions: readonly string[]): WireCall {
  const headers = headersFor10(extensions);
  const call = (method: string, params: JsonObject, more: Readonly<Record<string, string>> = {}): WireCall => ({
    method,
    params: tenant === undefined ? params : { tenant, ...params },
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers, ...more },
  });
  switch (operation.kind) {
    case 'send': {
      const { idempotencyKey, traceparent, overStream } = operation;
      const [method, accept] =
        overStream === true ? ['SendStreamingMessage', eventsOrJson] : ['SendMessage', 'application/json'];
      return call(method, sendParams10(operation), {
        accept,
        'idempotency-key': idempotencyKey,
        ...defined({ traceparent }),
      });
    }
    case 'get':
      return call('GetTask', getParams(operation));
    case 'cancel':
      return call('CancelTask', { id: operation.taskId });
    case 'list':
      return call('ListTasks', listParams(operation));
    case 'subscribe':
      return call('SubscribeToTask', { id: operation.taskId }, { accept: 'text/event-stream' });
    case 'forget_push':
      return call('DeleteTaskPushNotificationConfig', { taskId: operation.taskId, id: operation.configId });
    case 'extended_card':
      return call('GetExtendedAgentCard', {});
  }
}

/**
 * Returns the parameters of SendMessage in both bindings. Sets `returnImmediately`, since the default is to wait for
 * the end.
 */
export function sendParams10({
  message,
  push,
  ifGenerationMatch,
}: Extract<A2aOperation, { kind: 'send' }>): JsonObject {
  return {
    message: { ...message, role: 'ROLE_USER' },
    configuration: {
      returnImmediately: true,
      historyLength: 0,
      acceptedOutputModes,
      ...defined({
        taskPushNotificationConfig: push === undefined ? undefined : pushConfig10(push),
        ifGenerationMatch: ifGenerationMatch?.toString(),
      }),
    },
  };
}

/** Gives the secret in both places: some agents echo the token, others the credentials. */
function pushConfig10({ id, url, secret }: PushRegistration): JsonObject {
  if (secret === undefined) return { id, url };
  return { id, url, token: secret, authentication: { scheme: 'Bearer', credentials: secret } };
}

/** Returns the headers for version and extensions (section 3.6). */
export function headersFor10(extensions: readonly string[]): Readonly<Record<string, string>> {
  return {
    'a2a-version': '1.0',
    ...defined({ 'a2a-extensions': extensions.length === 0 ? undefined : extensions.join(', ') }),
  };
}

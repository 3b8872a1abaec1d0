// The client that the MCP conformance suite runs, once for each scenario: our transport, with the tools to call. The
// suite passes the URL of its server as the last argument and the scenario in the environment.

import type { JsonObject } from '../../../lib/base/json.js';
import { silentLog } from '../../../lib/base/log.js';
import { GuardedHttpClient, type HttpClient, type HttpRequest } from '../../../lib/remote/http/http.js';
import type { RemoteAnswer, RemoteTaskTransport, StartReply, StartRequest } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { mcpServer } from '../../../lib/workflow/app.js';
import type { ServerAuth } from '../../../lib/workflow/server-auth.js';
import { system } from '../../../lib/process/system.js';

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
};

/**
 * Adds the request for headers. We learn which arguments are headers when a server requests them with -32020, as the
 * revision says; the servers of the suite do not, so this does it in their place.
 */
function askingForHeaders(http: HttpClient): HttpClient {
  let listed = false;
  return {
    send: async (request: HttpRequest) => {
      const { id, method } = JSON.parse(request.body ?? '{}') as { readonly id: string; readonly method: string };
      if (method === 'tools/list') listed = true;
      if (method !== 'tools/call' || listed) return http.send(request);
      const error = { code: -32020, message: 'a header is missing' };
      return {
        kind: 'reply',
        status: 400,
        headers: { 'content-type': 'application/json' },
        text: JSON.stringify({ jsonrpc: '2.0', id, error }),
      };
    },
  };
}

/** Returns the credentials that the suite passes, if any. */
function auth(): ServerAuth | undefined {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: key } = context;
  if (clientId === undefined) return undefined;
  if (key !== undefined) return { oauth: { clientId, privateKey: { key, algorithm: 'ES256' } } };
  return clientSecret === undefined ? undefined : { oauth: { clientId, clientSecret } };
}

function transportOver(http: HttpClient): RemoteTaskTransport {
  const deps = { ...system, http, readSecret: () => undefined, log: silentLog };
  const credentials = auth();
  const config = { url, allowPrivateAddresses: true, ...(credentials === undefined ? {} : { auth: credentials }) };
  return createTransports({ suite: mcpServer(config) }, deps).get('suite');
}

const http = new GuardedHttpClient({ allowLoopback: true });
const transport = transportOver(http);
const listing = transportOver(askingForHeaders(http));

let calls = 0;

async function call(
  by: RemoteTaskTransport,
  tool: string,
  args: JsonObject,
  more: Partial<StartRequest> = {},
): Promise<StartReply> {
  const request = { kind: 'tool', tool, arguments: args } as const;
  return by.start({ request, idempotencyKey: `call-${++calls}`, ...more });
}

/** Calls a tool and answers its questions. */
async function callAndConfirm(tool: string): Promise<void> {
  const asked = await call(transport, tool, {}, { answersQuestions: true });
  if (asked.kind !== 'asked') throw new Error(`${tool} did not ask: ${JSON.stringify(asked)}`);
  const accept: RemoteAnswer = { action: 'accept', content: { confirmed: true } };
  const answers = Object.fromEntries(asked.questions.map(({ key }) => [key, accept]));
  const continuation = { answers, ...(asked.state === undefined ? {} : { state: asked.state }) };
  await call(transport, tool, {}, { answersQuestions: true, continuation });
}

// The tools of http-invalid-tool-headers; all but the first have a definition that breaks a rule.
const toolsWithHeaders = ['valid_tool', 'invalid_empty_header', 'invalid_object_header', 'invalid_array_header']
  .concat(['invalid_null_header', 'invalid_number_header', 'invalid_duplicate_same_case'])
  .concat(['invalid_duplicate_diff_case', 'invalid_space_in_name', 'invalid_colon_in_name'])
  .concat(['invalid_non_ascii_name', 'invalid_control_char_name']);

const scenarios: Readonly<Record<string, () => Promise<unknown>>> = {
  initialize: () => call(transport, 'any', {}),
  tools_call: () => call(transport, 'add_numbers', { a: 5, b: 3 }),
  'request-metadata': () => call(transport, 'any', {}, { answersQuestions: true }),
  'http-standard-headers': async () => {
    await call(listing, 'test_headers', {});
    await call(listing, 'my-hyphenated-tool', {});
  },
  'http-custom-headers': async () => {
    for (const tool of context.toolCalls ?? []) await call(listing, tool.name, tool.arguments);
  },
  'http-invalid-tool-headers': async () => {
    for (const tool of toolsWithHeaders) await call(listing, tool, { region: 'eu', value: 'x' });
  },
  'auth/client-credentials-basic': () => call(transport, 'test-tool', {}),
  'auth/client-credentials-jwt': () => call(transport, 'test-tool', {}),
  'json-schema-ref-no-deref': () => call(listing, 'lookup_user', { id: 'u' }),
  'sep-2322-client-request-state': async () => {
    await callAndConfirm('test_mrtr_echo_state');
    await call(transport, 'test_mrtr_unrelated', {});
    await callAndConfirm('test_mrtr_no_state');
    await call(transport, 'test_mrtr_no_result_type', {});
  },
};

const run = scenarios[scenario];
if (run === undefined) throw new Error(`no such scenario: ${scenario}`);
await run();
await http.close();

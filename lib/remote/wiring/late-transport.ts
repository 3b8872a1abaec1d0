import type { ServerConfig } from '../../workflow/app.js';
import type { A2aTransport } from '../a2a/client.js';
import type { McpTransport } from '../mcp/client.js';
import type { RemoteTaskTransport } from '../transport.js';

/**
 * The transport of a server whose code is loaded at the first call, since most invocations call no server. It has the
 * methods of the one that `load` gives: an optional one of them is there if the protocol has it.
 */
export function lateTransport(config: ServerConfig, load: () => Promise<RemoteTaskTransport>): RemoteTaskTransport {
  let loading: Promise<RemoteTaskTransport> | undefined;
  // Each method is called only where there is one.
  const inner = async () => (await (loading ??= load())) as Required<RemoteTaskTransport>;
  const mcp = {
    protocol: config.protocol,
    dedupes: config.dedupes ?? false,
    traits: async () => (await inner()).traits(),
    problemWith: async (request) => (await inner()).problemWith(request),
    answersAtOnce: async (request) => (await inner()).answersAtOnce(request),
    start: async (request) => (await inner()).start(request),
    get: async (handle) => (await inner()).get(handle),
    cancel: async (handle) => (await inner()).cancel(handle),
    answer: async (...given) => (await inner()).answer(...given),
    adopt: async (task) => (await inner()).adopt(task),
  } satisfies RemoteTaskTransport & Record<keyof McpTransport, unknown>;
  switch (config.protocol) {
    case 'mcp':
      return mcp;
    case 'a2a':
      return {
        ...mcp,
        find: async (request) => (await inner()).find(request),
        watch: async (...given) => (await inner()).watch(...given),
      } satisfies RemoteTaskTransport & Record<keyof A2aTransport, unknown>;
  }
}

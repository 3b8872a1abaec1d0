import type { ServerConfig } from '../../workflow/app.js';
import type { A2aTransport } from '../a2a/a2a-transport.js';
import type { McpTransport } from '../mcp/mcp-transport.js';
import type { Admission, RemoteTaskTransport } from '../transport.js';

/**
 * Returns a transport whose code is loaded at the first call, since most invocations call no server. It has the methods
 * of the one that `load` returns: an optional method is present if the protocol has it.
 */
export function lazyTransport(config: ServerConfig, load: () => Promise<RemoteTaskTransport>): RemoteTaskTransport {
  let loading: Promise<RemoteTaskTransport> | undefined;
  const loaded = (): Promise<RemoteTaskTransport> => (loading ??= load());
  // Casts to `Required`: a method is called only where the protocol has it.
  const inner = async () => (await loaded()) as Required<RemoteTaskTransport>;
  const common = {
    protocol: config.protocol,
    dedupes: config.dedupes ?? false,
    problemWith: async (request) => (await inner()).problemWith(request),
    start: async (request) => (await inner()).start(request),
    get: async (handle) => (await inner()).get(handle),
    cancel: async (handle) => (await inner()).cancel(handle),
    admit: async (...given) => (await loaded()).admit?.(...given) ?? always,
    whenRead: async (atMs) => (await loaded()).whenRead?.(atMs) ?? atMs,
  } satisfies RemoteTaskTransport;
  const mcp = {
    ...common,
    traits: async () => (await inner()).traits(),
    answersAtOnce: async (request) => (await inner()).answersAtOnce(request),
    answer: async (...given) => (await inner()).answer(...given),
    adopt: async (task) => (await inner()).adopt(task),
  } satisfies RemoteTaskTransport & Record<keyof McpTransport, unknown>;
  switch (config.protocol) {
    case 'mcp':
      return mcp;
    case 'a2a':
      return {
        ...mcp,
        forgetPush: async (handle) => (await inner()).forgetPush(handle),
        find: async (request) => (await inner()).find(request),
        watch: async (...given) => (await inner()).watch(...given),
      } satisfies RemoteTaskTransport & Record<keyof A2aTransport, unknown>;
  }
}

const always: Admission = { kind: 'admitted', leave: () => Promise.resolve() };

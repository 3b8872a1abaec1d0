import { fileURLToPath } from 'node:url';

/** Folder of the project, with a slash at the end. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Exports of the engine through which its output passes, and those that give out what must not be in it: tokens, and
 * ids of remote tasks.
 */
const sinks = {
  'lib/base/log.ts': 'silentLog',
  'lib/bus/eventbridge-bus.ts': 'EventBridgeBus',
  'lib/bus/memory-bus.ts': 'MemoryBus',
  'lib/operations/turn/outbox.ts': 'Outbox',
  'lib/remote/a2a/a2a-transport.ts': 'A2aTransport',
  'lib/remote/mcp/mcp-transport.ts': 'McpTransport',
  'lib/store/parts/starts.ts': 'Starts',
  'lib/store/parts/unwanted-tasks.ts': 'UnwantedTasks',
  'lib/testing/scripted-server.ts': 'ScriptedServer',
  'lib/testing/test-deps.ts': 'listeners',
  'lib/tokens/token-keys.ts': 'TokenKeys',
  'lib/tracing/buffered-spans.ts': 'BufferedSpans',
} as const;

export type Sink = (typeof sinks)[keyof typeof sinks];

/** Key of the global list to which each sink is added when its module is loaded. */
export const sinksKey = 'outwait.sinks';

/**
 * Creates a Vite plugin that has each of these modules show its sink to the tests. Nothing of a module is replaced, and
 * a test that loads none of them pays nothing.
 */
export function shownSinks(): {
  readonly name: string;
  readonly enforce: 'post';
  transform(code: string, id: string): { readonly code: string; readonly map: null } | undefined;
} {
  return {
    name: 'shown-sinks',
    enforce: 'post',
    transform: (code, id) => {
      const path = id.split('?')[0] ?? '';
      const name = path.startsWith(root) ? (sinks as Record<string, string>)[path.slice(root.length)] : undefined;
      if (name === undefined) return undefined;
      const list = `globalThis[Symbol.for(${JSON.stringify(sinksKey)})]`;
      return { code: `${code}\n;(${list} ??= []).push([${JSON.stringify(name)}, ${name}]);\n`, map: null };
    },
  };
}

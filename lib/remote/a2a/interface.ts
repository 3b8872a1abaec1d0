import { defined } from '../../base/defined.js';
import type { RemoteTaskHandle } from '../../history/event.js';

/** Address and protocol on which an agent can be called. */
export interface A2aInterface {
  readonly url: string;
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly wire: A2aWire;
  readonly tenant?: string;
}

/** Interface named for a call that was not made. */
export const nowhere: A2aInterface = { url: '', binding: 'JSONRPC', wire: '1.0' };

/** Version on the wire. HTTP+JSON of 0.3 is another protocol (ProtoJSON with other names), which we do not speak. */
export type A2aWire = '1.0' | '0.3';

/** Fields of a task's handle that say where it was started. */
export type TaskOrigin = Pick<RemoteTaskHandle, 'server' | 'protocol' | 'wire' | 'binding' | 'tenant' | 'pushConfigId'>;

/**
 * Returns what is stored of an interface with a task. JSON-RPC is not named, as in handles that predate other bindings.
 */
export function originOf(server: string, { wire, binding, tenant }: A2aInterface): TaskOrigin {
  return {
    server,
    protocol: 'a2a',
    wire,
    ...defined({ binding: binding === 'JSONRPC' ? undefined : binding, tenant }),
  };
}

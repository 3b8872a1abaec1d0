/**
 * What remote servers speak, as handles store it and lifecycle events name it. A third one does not compile until each
 * place that depends on the protocol knows it.
 */
export type RemoteProtocol = 'mcp' | 'a2a';

const known = { mcp: true, a2a: true } satisfies Record<RemoteProtocol, true>;
export const remoteProtocols = Object.keys(known) as readonly RemoteProtocol[];

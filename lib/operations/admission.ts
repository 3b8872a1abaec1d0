import type { EpochMs } from '../base/time.js';
import type { Admission, AdmissionPurpose, AdmissionTerms, Held, RemoteTaskTransport } from '../remote/transport.js';
import type { Deps } from './deps.js';

/** The server to be called, the purpose of the call, and its terms; by default it ends as soon as a turn's must. */
interface Call extends AdmissionTerms {
  readonly server: string;
  readonly purpose: AdmissionPurpose;
}

export type Admitted<Result> = { readonly kind: 'done'; readonly result: Result } | Held;

/** Does `work`, a start or a read, if its server may be called now. An unknown server is left to `work` to report. */
export async function whenAdmitted<Result>(
  deps: Deps,
  call: Call,
  work: () => Promise<Result>,
): Promise<Admitted<Result>> {
  const admission = await admit(deps, call);
  if (admission?.kind === 'held') return admission;
  try {
    return { kind: 'done', result: await work() };
  } finally {
    await admission?.leave();
  }
}

/** Returns when a read of the server's tasks that is wanted at `atMs` will be admitted, and keeps its place. */
export async function whenRead(deps: Deps, server: string, atMs: EpochMs): Promise<EpochMs> {
  return (await transportOf(deps, server)?.whenRead?.(atMs)) ?? atMs;
}

async function admit(deps: Deps, { server, purpose, ...terms }: Call): Promise<Admission | undefined> {
  return transportOf(deps, server)?.admit?.(purpose, terms);
}

function transportOf(deps: Deps, server: string): RemoteTaskTransport | undefined {
  try {
    return deps.transports.get(server);
  } catch {
    return undefined;
  }
}

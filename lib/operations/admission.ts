import type { EpochMs } from '../base/time.js';
import type { Admission, AdmissionPurpose, Held, RemoteTaskTransport } from '../remote/transport.js';
import type { Deps } from './deps.js';

/** The server to be called, and the purpose of the call. */
interface Call {
  readonly server: string;
  readonly purpose: AdmissionPurpose;
  /** Limit of the call. Default: as long as a turn can wait. */
  readonly untilMs?: EpochMs;
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

async function admit(deps: Deps, { server, purpose, untilMs }: Call): Promise<Admission | undefined> {
  let transport: RemoteTaskTransport;
  try {
    transport = deps.transports.get(server);
  } catch {
    return undefined;
  }
  return transport.admit?.(purpose, untilMs);
}

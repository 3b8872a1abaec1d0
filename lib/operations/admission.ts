import type { EpochMs } from '../base/time.js';
import type { Admission, AdmissionPurpose, Held, RemoteTaskTransport } from '../remote/transport.js';
import type { Deps } from './deps.js';

/** Which server is to be called, and what for. */
interface Call {
  readonly server: string;
  readonly purpose: AdmissionPurpose;
  /** How long the call may take. Default: as long as a turn can wait. */
  readonly untilMs?: EpochMs;
}

export type Admitted<Result> = { readonly kind: 'done'; readonly result: Result } | Held;

/** Does `work`, a start or a read, when its server may be called now. A server that is not configured is for `work` to find out. */
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

import type { EpochMs } from '../base/time.js';
import type { Admission, AdmissionPurpose, Held, RemoteTaskTransport } from '../remote/transport.js';
import type { Deps } from './deps.js';

export type WhenFree<Result> = { readonly kind: 'done'; readonly result: Result } | Held;

/** Does `work`, a start or a read, when its server may be called now. A server that is not configured is for `work` to find out. */
export async function whenFree<Result>(
  deps: Deps,
  server: string,
  purpose: AdmissionPurpose,
  work: () => Promise<Result>,
  untilMs?: EpochMs,
): Promise<WhenFree<Result>> {
  const admission = await admit(deps, server, purpose, untilMs);
  if (admission?.kind === 'held') return admission;
  try {
    return { kind: 'done', result: await work() };
  } finally {
    await admission?.leave();
  }
}

async function admit(
  deps: Deps,
  server: string,
  purpose: AdmissionPurpose,
  untilMs: EpochMs | undefined,
): Promise<Admission | undefined> {
  let transport: RemoteTaskTransport;
  try {
    transport = deps.transports.get(server);
  } catch {
    return undefined;
  }
  return transport.admit?.(purpose, untilMs);
}

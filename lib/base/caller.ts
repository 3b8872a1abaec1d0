/** What a caller may do. `admin` includes `operate`, and that includes `read`; `call` is for served workflows alone. */
export type Role = 'call' | 'read' | 'operate' | 'admin';
export const roles = ['call', 'read', 'operate', 'admin'] as const satisfies readonly Role[];

/** Who sends a request, as told by its credential alone. */
export interface Caller {
  readonly id: string;
  /** The caller sees and touches only the runs of its tenant. Missing: the runs of all. */
  readonly tenant?: string;
  readonly roles: readonly Role[];
}

/** Longest id of a caller, in bytes; a longer one is replaced by its digest. */
export const callerIdMaxBytes = 128;

/** Names of tenants, which are part of keys of the table. */
export const tenantName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const includedIn: Readonly<Record<Role, readonly Role[]>> = {
  call: ['call', 'admin'],
  read: ['read', 'operate', 'admin'],
  operate: ['operate', 'admin'],
  admin: ['admin'],
};

export function mayDo(caller: Pick<Caller, 'roles'>, role: Role): boolean {
  return caller.roles.some((own) => includedIn[role].includes(own));
}

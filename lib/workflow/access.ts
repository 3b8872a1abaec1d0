import { type Role, roles, tenantName } from '../base/caller.js';

/** Most that one tenant may do. What is missing has no limit of its own, and costs nothing. */
export interface TenantLimits {
  /** Runs under way that its callers started; children of runs do not count. A run that continues as another is one. */
  readonly liveRuns?: number;
  /** Starts of runs in a minute of the clock. */
  readonly startsPerMinute?: number;
  /** Signals in a minute of the clock. */
  readonly signalsPerMinute?: number;
  /** Bytes of one input or of the payload of one signal, as JSON. */
  readonly payloadBytes?: number;
}

/** Says what the claims of a caller mean: those of a JWT, or the context of a Lambda authorizer. */
export interface ClaimRules {
  /** The claim with the id of the caller. Default: `sub`. */
  readonly id?: string;
  /**
   * The claim with the tenant of the caller. A caller without a valid one may do nothing. Default: callers have no tenant,
   * and see all runs.
   */
  readonly tenant?: string;
  /** Value of the tenant claim of callers who see the runs of all tenants. Default: none has it. */
  readonly everyTenant?: string;
  /** The claim with the roles of the caller, one text or a list. */
  readonly roles: string;
  /** Roles by the value of that claim. Default: the values are names of roles. */
  readonly roleOf?: Readonly<Record<string, Role>>;
}

/** What a principal of IAM may do. */
export interface PrincipalRules {
  readonly roles: readonly Role[];
  /** Default: none; the principal sees all runs. */
  readonly tenant?: string;
}

/** Says who may do what, once an authorizer of the gateway has let a caller pass, and how much a tenant may do. */
export interface AccessConfig {
  readonly claims?: ClaimRules;
  /** By ARN of the user or role (`arn:aws:iam::123456789012:role/operators`). A principal that is not here may do nothing. */
  readonly principals?: Readonly<Record<string, PrincipalRules>>;
  /** Limits of each tenant. Default: none. */
  readonly limits?: TenantLimits;
  /** Limits of single tenants, in place of `limits`. */
  readonly limitsOf?: Readonly<Record<string, TenantLimits>>;
}

/** Returns the limits of a tenant. */
export function limitsOf(access: AccessConfig | undefined, tenant: string): TenantLimits {
  const own = access?.limitsOf;
  return (own !== undefined && Object.hasOwn(own, tenant) ? own[tenant] : access?.limits) ?? {};
}

const limitNames = ['liveRuns', 'startsPerMinute', 'signalsPerMinute', 'payloadBytes'];

/** Returns what is wrong with the rules of access, if anything. */
export function problemWithAccess({
  claims,
  principals = {},
  limits,
  limitsOf = {},
}: AccessConfig): string | undefined {
  const named = [claims?.id, claims?.tenant, claims?.everyTenant, claims === undefined ? 'roles' : claims.roles];
  if (!named.every((name, at) => (name === undefined && at < 3) || (typeof name === 'string' && name !== '')))
    return 'claims must name id, tenant and roles by non-empty texts';
  if (!Object.values(claims?.roleOf ?? {}).every(isRole)) return `claims.roleOf must give ${roles.join(', ')}`;
  for (const [arn, given] of Object.entries(principals)) {
    if (!Array.isArray(given.roles) || !given.roles.every(isRole))
      return `principals["${arn}"].roles must be a list of ${roles.join(', ')}`;
    if (given.tenant !== undefined && !tenantName.test(given.tenant))
      return `principals["${arn}"].tenant must match ${tenantName.source}`;
  }
  const all: readonly [string, TenantLimits | undefined][] = [['limits', limits], ...Object.entries(limitsOf)];
  for (const [of, given] of all) {
    for (const [name, value] of Object.entries<unknown>({ ...given })) {
      if (!limitNames.includes(name)) return `limits of "${of}" have no "${name}"`;
      if (!Number.isSafeInteger(value) || (value as number) < 1)
        return `${name} of "${of}" must be a whole number from 1, got ${String(value)}`;
    }
  }
  return undefined;
}

function isRole(value: unknown): value is Role {
  return roles.includes(value as Role);
}

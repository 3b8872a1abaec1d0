import { createHash } from 'node:crypto';
import { type Caller, callerIdMaxBytes, type Role, roles, tenantName } from '../base/caller.js';
import { EngineError } from '../base/errors.js';
import { utf8Bytes } from '../base/json.js';
import { nameProblem } from '../base/name.js';
import type { AccessConfig, ClaimRules } from '../workflow/access.js';

// The caller behind a request that an authorizer of the gateway has let pass. `door.ts` loads it at the first one.

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the caller from what the gateway says about it: the claims of a JWT (HTTP API or Cognito on a REST API), the
 * context of a Lambda authorizer, or a principal of IAM. Without rules of access everyone who has passed is an admin. A
 * claim or principal that the rules do not expect gives no role.
 * @throws EngineError `UNAUTHORIZED` if nobody is named by what has passed
 */
export function authorizedCaller(authorizer: unknown, access: AccessConfig | undefined): Caller {
  const passed = valuesOf(authorizer);
  if (passed === undefined) throw new EngineError('UNAUTHORIZED', 'the request has not passed the authorizer');
  const arn = textOf(valuesOf(passed['iam'])?.['userArn']);
  const claims = arn === undefined ? claimsOf(passed) : {};
  if (access === undefined) return { id: idOf(arn ?? claims['sub']) ?? 'authorizer', roles: ['admin'] };
  if (arn !== undefined) return principal(arn, access);
  return access.claims === undefined ? nobody(claims['sub']) : fromClaims(claims, access.claims);
}

function claimsOf(passed: Values): Values {
  return (
    valuesOf(valuesOf(passed['jwt'])?.['claims']) ?? valuesOf(passed['claims']) ?? valuesOf(passed['lambda']) ?? {}
  );
}

function principal(arn: string, { principals = {} }: AccessConfig): Caller {
  // A role appears as a session of it; its path is not part of that.
  const [, partition, account, role] = /^arn:([\w-]+):sts::(\d+):assumed-role\/([^/]+)\//.exec(arn) ?? [];
  const known = role === undefined ? arn : `arn:${partition}:iam::${account}:role/${role}`;
  const rules = Object.hasOwn(principals, known) ? principals[known] : undefined;
  const id = idOf(known);
  return rules === undefined || id === undefined ? nobody(arn) : { id, ...rules };
}

function fromClaims(claims: Values, rules: ClaimRules): Caller {
  const id = idOf(claims[rules.id ?? 'sub']);
  if (id === undefined) return nobody(undefined);
  const given = listIn(claims[rules.roles]) ?? [];
  const own = given.flatMap((value) => roleOf(value, rules) ?? []);
  if (rules.tenant === undefined) return { id, roles: own };
  const tenant = textOf(claims[rules.tenant]);
  if (tenant !== undefined && tenant === rules.everyTenant) return { id, roles: own };
  return tenant === undefined || !tenantName.test(tenant) ? nobody(id) : { id, tenant, roles: own };
}

function roleOf(value: string, { roleOf: names }: ClaimRules): Role | undefined {
  if (names !== undefined) return Object.hasOwn(names, value) ? names[value] : undefined;
  return roles.find((role) => role === value);
}

/** A caller who may do nothing: it is refused, and named in the log. */
function nobody(id: unknown): Caller {
  return { id: idOf(id) ?? 'unknown', roles: [] };
}

/**
 * Reads a claim that is a list. It arrives as a list, or as text: `[a b]` from an HTTP API, `a,b` from Cognito on a REST
 * API, `a b` where it is a list by its own definition, such as `scope`. Returns undefined for anything else.
 */
export function listIn(claim: unknown): readonly string[] | undefined {
  if (Array.isArray(claim)) return claim.every((one) => typeof one === 'string') ? claim : undefined;
  if (typeof claim !== 'string') return undefined;
  const bracketed = /^\[([^[\]]*)\]$/.exec(claim)?.[1];
  if (bracketed === undefined && /[[\]]/.test(claim)) return undefined;
  return (bracketed ?? claim).split(/[\s,]+/).filter((one) => one !== '');
}

function idOf(value: unknown): string | undefined {
  const text = textOf(value);
  if (text === undefined || nameProblem(text, { maxBytes: Number.MAX_SAFE_INTEGER }) !== undefined) return undefined;
  return utf8Bytes(text) <= callerIdMaxBytes ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function valuesOf(value: unknown): Values | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : undefined;
}

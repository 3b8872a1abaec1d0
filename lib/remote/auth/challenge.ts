import { defined } from '../../base/defined.js';

/** Content of a `WWW-Authenticate: Bearer …` header (RFC 6750 section 3, RFC 9728 section 5.1). Untrusted. */
export interface BearerChallenge {
  readonly resourceMetadata?: string;
  readonly scopes?: readonly string[];
  /** `invalid_token`, `insufficient_scope` … */
  readonly error?: string;
}

const scheme = /(?:^|,)\s*bearer(?=\s|$|,)/i;
const parameter = /^[\s,]*([!#$%&'*+.^_`|~0-9a-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9a-z-]+))/i;

/** Returns the first Bearer challenge of the header, or undefined if there is none. */
export function readChallenge(header: string | undefined): BearerChallenge | undefined {
  const found = scheme.exec(header ?? '');
  if (header === undefined || found === null) return undefined;
  const parameters = new Map<string, string>();
  let rest = header.slice(found.index + found[0].length);
  for (let match = parameter.exec(rest); match !== null; match = parameter.exec(rest)) {
    const [whole, name = '', quoted, plain] = match;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
    rest = rest.slice(whole.length);
  }
  const resourceMetadata = parameters.get('resource_metadata');
  const scopes = parameters.get('scope')?.split(' ').filter(Boolean);
  const error = parameters.get('error');
  return {
    ...defined({ resourceMetadata, scopes: scopes === undefined || scopes.length === 0 ? undefined : scopes, error }),
  };
}

import { defined } from '../base/defined.js';
import { CliError, exitCodes } from './cli-error.js';

// The credential of a request to an engine: a bearer token, or a signature with the credentials of AWS.

/** What the command line says about it. */
export interface CredentialFlags {
  readonly sigv4?: boolean;
}

export interface UnsignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export const sigv4Help = 'sign requests with AWS credentials; by itself for execute-api addresses without a token';

/** Hosts of API Gateway, also behind a VPC endpoint. */
const executeApi = /\.execute-api\.([a-z0-9-]+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/;

/**
 * Returns the request with its credential: the token of `OUTWAIT_MANAGEMENT_TOKEN` as a bearer token, or with `--sigv4`, or
 * for an address of API Gateway without a token, a signature (Signature Version 4, service `execute-api`) with the default
 * credentials of AWS. The region is that of the address, or `AWS_REGION`.
 * @throws CliError without a region or credentials
 */
export async function withCredential(
  request: UnsignedRequest,
  { sigv4 }: CredentialFlags,
  environment: NodeJS.ProcessEnv,
): Promise<Pick<UnsignedRequest, 'url' | 'headers'>> {
  // Read from the environment only: every user of the machine could read an argument.
  const token = environment['OUTWAIT_MANAGEMENT_TOKEN'] ?? '';
  const url = new URL(request.url);
  const regionOfHost = executeApi.exec(url.hostname)?.[1];
  if (sigv4 !== true && (regionOfHost === undefined || token !== '')) {
    const bearer: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    return { url: request.url, headers: { ...request.headers, ...bearer } };
  }
  const region = regionOfHost ?? environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION'] ?? '';
  if (region === '')
    throw new CliError('--sigv4 needs AWS_REGION: the address does not name a region', exitCodes.usage);
  // A plus sign is a space to some, and the signature holds a space as %20.
  url.search = url.search.replaceAll('+', '%20');
  return { url: url.href, headers: await signed({ ...request, url: url.href }, region) };
}

async function signed(request: UnsignedRequest, region: string): Promise<Readonly<Record<string, string>>> {
  // Loaded late: most commands go to local mode.
  const [{ defaultAwsIdentity, SigV4Credentials }, { system }] = await Promise.all([
    import('../remote/auth/sigv4-credentials.js'),
    import('../process/system.js'),
  ]);
  const credentials = new SigV4Credentials({ service: 'execute-api', region }, defaultAwsIdentity(), system.clock);
  const { body, ...rest } = request;
  const presented = await credentials.present({ ...rest, ...defined({ body }) });
  if (presented.kind === 'ready') return { ...request.headers, ...presented.headers };
  throw new CliError(
    `${presented.error.message}; log in, or set AWS_PROFILE, or a token in OUTWAIT_MANAGEMENT_TOKEN`,
    exitCodes.failed,
  );
}

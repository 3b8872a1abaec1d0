import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { account } from './account.js';
import { type AwsCall, needsOf, queueNameOf, readCall, textIn } from './aws-calls.js';
import { closeServer } from './close-server.js';
import type { Need, RequestContext, Rights } from './rights.js';
import type { Secrets } from './secrets.js';

/** Credentials of a caller: the id is the name of the role, the token that of the process. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

export function credentialsOf(role: string, session: string): Credentials {
  return { accessKeyId: role, secretAccessKey: 'none', sessionToken: session };
}

/** The services behind the endpoint. */
export interface Services {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly kms: string;
  readonly events: string;
  /** Returns the stand-in's own URL of a queue. */
  readonly queueUrlOf: (name: string) => string | undefined;
  readonly secrets: Secrets;
  readonly rights: Rights;
}

/** A request with its sender. */
export interface SeenCall extends AwsCall {
  /** Name of the role. */
  readonly role: string;
  /** Name of the replica. */
  readonly session: string;
}

/** Answer to a request: this, or what a stand-in makes of it, or of `body` in its place. */
type Answer =
  | { readonly kind: 'given'; readonly body: object }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'by'; readonly url: string; readonly body?: string };

interface Hold {
  readonly matches: (call: SeenCall) => boolean;
  readonly onHeld: (call: SeenCall) => void;
}

export interface Denial extends Need {
  readonly role: string;
}

/** Clients of AWS use TLS, although those of the tests do not. */
const context: RequestContext = { 'aws:SecureTransport': 'true' };

/**
 * The endpoint of all AWS services that a stack uses: it identifies the caller, checks its rights, and forwards the
 * request.
 */
export class AwsEndpoint {
  readonly #server: Server;
  readonly #denials: Denial[] = [];
  readonly #problems: string[] = [];
  #holds: readonly Hold[] = [];
  #services: Services | undefined;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        if (response.destroyed) return;
        this.#problems.push(String(error));
        refuse(response, 500, 'InternalFailure', String(error));
      });
    });
  }

  static async open(): Promise<AwsEndpoint> {
    const endpoint = new AwsEndpoint();
    await new Promise<void>((resolve) => endpoint.#server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves requests from now on. */
  serve(services: Services): void {
    this.#services = services;
  }

  /** Requests that were refused so far. */
  get denials(): readonly Denial[] {
    return this.#denials;
  }

  /** Requests for what is not supported here. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Neither carries out nor answers the next request that matches. Resolves when it has arrived. */
  hold(matches: (call: SeenCall) => boolean): Promise<SeenCall> {
    return new Promise((resolve) => {
      this.#holds = [...this.#holds, { matches, onHeld: resolve }];
    });
  }

  /** Returns whether a role may do something without a request, such as what Lambda does in its name. */
  allows(role: string, need: Need): boolean {
    const allowed = this.#services?.rights.allows({ role }, need, context) === true;
    if (!allowed) this.#denials.push({ role, ...need });
    return allowed;
  }

  /** Sends a message for a service of AWS, if the policy of the queue allows it. */
  async sendAs(service: string, sourceArn: string, queueArn: string, body: string): Promise<void> {
    const need: Need = { action: 'sqs:SendMessage', resource: queueArn };
    const services = this.#services;
    const isAllowed = services?.rights.allows({ service }, need, { ...context, 'aws:SourceArn': sourceArn });
    if (services === undefined || isAllowed !== true) {
      this.#denials.push({ role: service, ...need });
      return;
    }
    const QueueUrl = services.queueUrlOf(queueArn.replace(/^.*:/, ''));
    await fetch(services.sqs, {
      method: 'POST',
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.SendMessage' },
      body: JSON.stringify({ QueueUrl, MessageBody: body }),
    });
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await buffer(request)).toString();
    const services = this.#services;
    if (services === undefined) throw new Error('the stack is not there yet');
    const call: SeenCall = { ...readCall(headerOf(request, 'x-amz-target'), body), ...callerOf(request) };
    if (this.#isHeld(call)) return;
    const denied = needsOf(call, services.secrets).find((need) => !this.allows(call.role, need));
    if (denied !== undefined) {
      const text = `${call.role} is not authorized to perform: ${denied.action} on resource: ${denied.resource}`;
      refuse(response, 400, 'AccessDeniedException', text);
      return;
    }
    const answer = this.#answerOf(call, services);
    if (answer.kind === 'refused') refuse(response, 400, answer.code, 'what is asked for is not there');
    else if (answer.kind === 'given') reply(response, 200, answer.body);
    else await handOn(answer.url, request, response, answer.body ?? body);
  }

  #answerOf({ service, input }: SeenCall, services: Services): Answer {
    switch (service) {
      case 'dynamodb':
        return { kind: 'by', url: services.dynamodb };
      case 'kms':
        return { kind: 'by', url: services.kms };
      case 'sqs': {
        // The stand-in knows a queue only by its own URL.
        const QueueUrl = services.queueUrlOf(queueNameOf(input));
        if (QueueUrl === undefined) return { kind: 'refused', code: 'QueueDoesNotExist' };
        return { kind: 'by', url: services.sqs, body: JSON.stringify({ ...input, QueueUrl }) };
      }
      case 'secretsmanager': {
        const arn = services.secrets.arnOf(textIn(input, 'SecretId'));
        const text = services.secrets.read(arn);
        if (text === undefined) return { kind: 'refused', code: 'ResourceNotFoundException' };
        return { kind: 'given', body: { ARN: arn, SecretString: text } };
      }
      case 'ssm': {
        const name = textIn(input, 'Name');
        const value = services.secrets.readParameter(name);
        if (value === undefined) return { kind: 'refused', code: 'ParameterNotFound' };
        return { kind: 'given', body: { Parameter: { Name: name, Type: 'SecureString', Value: value } } };
      }
      case 'events':
        return { kind: 'by', url: services.events };
    }
  }

  #isHeld(call: SeenCall): boolean {
    const hold = this.#holds.find(({ matches }) => matches(call));
    this.#holds = this.#holds.filter((other) => other !== hold);
    hold?.onHeld(call);
    return hold !== undefined;
  }
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

/** Returns the caller of a request. @throws Error for a request that is not signed, or for another region */
function callerOf(request: IncomingMessage): Pick<SeenCall, 'role' | 'session'> {
  const scope = /Credential=([^/]+)\/\d{8}\/([^/]+)\//.exec(headerOf(request, 'authorization'));
  const [, role, region] = scope ?? [];
  if (role === undefined || region !== account.region) throw new Error('a request is not signed for this region');
  return { role, session: headerOf(request, 'x-amz-security-token') };
}

/** Forwards a request to a stand-in, and its answer back. Stops if the caller disconnects. */
async function handOn(url: string, request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort();
  });
  const headers = Object.fromEntries(
    ['content-type', 'x-amz-target', 'x-amz-date', 'authorization'].map((name) => [name, headerOf(request, name)]),
  );
  const answer = await fetch(url, { method: 'POST', headers, body, signal: gone.signal });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
  response.end(Buffer.from(await answer.arrayBuffer()));
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  reply(response, status, { __type: code, message });
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}

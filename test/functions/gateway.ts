import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stand-ins of the services that a function asks. */
export interface Services {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface Gateway {
  readonly url: string;
  /** Each action with what it was done to, in the words of a policy; once each, sorted. */
  actions(): readonly string[];
  close(): Promise<void>;
}

/** Hands requests of the AWS SDK on to the stand-ins, and writes down which rights they would need. */
export async function openGateway(services: Services): Promise<Gateway> {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    void read(request).then(async (body) => {
      const target = String(request.headers['x-amz-target']);
      const input = JSON.parse(body.toString()) as Input;
      for (const action of actionsOf(target, input)) seen.add(action);
      if (target.startsWith('secretsmanager.')) {
        response.setHeader('content-type', 'application/x-amz-json-1.1');
        response.end(JSON.stringify({ SecretString: services.secrets[input.SecretId ?? ''] }));
        return;
      }
      const to = target.startsWith('AmazonSQS.') ? services.sqs : services.dynamodb;
      const { host: _, ...headers } = request.headers as Record<string, string>;
      const answer = await fetch(to, { method: 'POST', headers: { ...headers, connection: 'close' }, body });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    actions: () => [...seen].sort(),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

interface Input {
  readonly SecretId?: string;
  readonly QueueUrl?: string;
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly TransactItems?: readonly Readonly<Record<string, unknown>>[];
}

function actionsOf(target: string, input: Input): readonly string[] {
  const [service = '', operation = ''] = target.split('.');
  if (service === 'secretsmanager') return [`secretsmanager:${operation} ${input.SecretId ?? ''}`];
  if (service === 'AmazonSQS') {
    return [`sqs:${operation.replace(/Batch$/, '')} ${/\/(\w+)(\.fifo)?$/.exec(input.QueueUrl ?? '')?.[1] ?? ''}`];
  }
  // A transaction needs the rights of its parts.
  if (operation === 'TransactWriteItems') {
    return (input.TransactItems ?? []).flatMap((item) => Object.keys(item).map((kind) => `dynamodb:${kind}Item Table`));
  }
  return [`dynamodb:${operation} Table${input.IndexName === undefined ? '' : `/index/${input.IndexName}`}`];
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

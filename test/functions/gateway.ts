import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stand-ins of the services that a function asks. */
export interface Services {
  readonly dynamodb: string;
  readonly sqs: string;
  /** By the names of the queues. */
  readonly queueUrls: ReadonlyMap<string, string>;
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
      const { host: _, 'content-length': __, ...headers } = request.headers as Record<string, string>;
      const target = headers['x-amz-target'] ?? '';
      const input = JSON.parse(body.toString()) as Input;
      for (const action of actionsOf(target, input)) seen.add(action);
      if (target.startsWith('secretsmanager.')) {
        response.setHeader('content-type', 'application/x-amz-json-1.1');
        response.end(JSON.stringify({ SecretString: services.secrets[input.SecretId ?? ''] }));
        return;
      }
      const isSqs = target.startsWith('AmazonSQS.');
      // A stand-in knows a queue by its whole URL only.
      const sent = isSqs ? { ...input, QueueUrl: services.queueUrls.get(queueOf(input)) } : input;
      const answer = await fetch(isSqs ? services.sqs : services.dynamodb, {
        method: 'POST',
        headers: { ...headers, connection: 'close' },
        body: JSON.stringify(sent),
      });
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
    return [`sqs:${operation.replace(/Batch$/, '')} ${queueOf(input)}`];
  }
  // A transaction needs the rights of its parts.
  if (operation === 'TransactWriteItems') {
    return (input.TransactItems ?? []).flatMap((item) => Object.keys(item).map((kind) => `dynamodb:${kind}Item Table`));
  }
  return [`dynamodb:${operation} Table${input.IndexName === undefined ? '' : `/index/${input.IndexName}`}`];
}

/** The name of the queue, without the end that FIFO queues have. */
function queueOf({ QueueUrl = '' }: Input): string {
  return QueueUrl.replace(/^.*\//, '').replace(/\.fifo$/, '');
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

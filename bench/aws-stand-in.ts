import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An empty AWS account on this machine: a table without items, and one secret. */
export interface AwsStandIn {
  readonly endpoint: string;
  close(): Promise<void>;
}

const answers: Readonly<Record<string, unknown>> = {
  'DynamoDB_20120810.GetItem': {},
  'DynamoDB_20120810.Query': { Items: [], Count: 0, ScannedCount: 0 },
  'secretsmanager.GetSecretValue': { Name: 'keys', SecretString: 'a'.repeat(64) },
};

export async function openAwsStandIn(): Promise<AwsStandIn> {
  const server = createServer((request, response) => {
    const answer = answers[request.headers['x-amz-target'] as string];
    request.resume().on('end', () => {
      response.writeHead(answer === undefined ? 400 : 200, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify(answer ?? { __type: 'NotHere' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

import { fileURLToPath } from 'node:url';
import type * as sdkModule from '@aws-sdk/client-dynamodb';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { trimPlugin } from '../../../lib/bundle/trim-plugins.js';
import { trims } from '../../../lib/bundle/trims.js';

type Sdk = typeof sdkModule;

it('gives errors of the table the same names, faults and fields with the classes that a bundle has', async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: "export { DynamoDBClient, GetItemCommand, DynamoDBServiceException } from '@aws-sdk/client-dynamodb';",
      resolveDir: fileURLToPath(new URL('../../../', import.meta.url)),
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire('/');" },
    plugins: [
      trimPlugin(
        trims.find(({ name }) => name === 'dynamodb-errors')!,
        '',
      ),
    ],
  });
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const whole = used.filter(([path]) => path.endsWith('client-dynamodb/dist-es/models/errors.js'));
  expect(whole.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0)).toBe(0);
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  const bundled = (await import(`data:text/javascript;base64,${code}`)) as Sdk;
  const sdk = await import('@aws-sdk/client-dynamodb');
  for (const [type, status] of [
    ['ConditionalCheckFailedException', 400],
    ['TransactionCanceledException', 400],
    ['InternalServerError', 500],
    ['NeverHeardOfException', 400],
  ] as const)
    expect(await failureOf(bundled, type, status)).toEqual(await failureOf(sdk, type, status));
});

/** Returns what is seen of an error with which the table answers. */
async function failureOf(sdk: Sdk, type: string, statusCode: number): Promise<object> {
  const answer = {
    __type: `com.amazonaws.dynamodb.v20120810#${type}`,
    message: 'no',
    Item: { pk: { S: 'x' } },
    CancellationReasons: [{ Code: 'ConditionalCheckFailed', Item: { pk: { S: 'x' } } }],
  };
  const headers = { 'content-type': 'application/x-amz-json-1.0' };
  const body = Buffer.from(JSON.stringify(answer));
  const client = new sdk.DynamoDBClient({
    region: 'eu-central-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 1,
    requestHandler: { handle: async () => ({ response: { statusCode, headers, body } }) } as never,
  });
  const error: unknown = await client
    .send(new sdk.GetItemCommand({ TableName: 't', Key: {} }))
    .catch((e: unknown) => e);
  const { name, $fault, message, Item, CancellationReasons } = error as Record<string, unknown>;
  expect(name).toBe(type);
  return {
    name,
    $fault,
    message,
    Item,
    CancellationReasons,
    isOfService: error instanceof sdk.DynamoDBServiceException,
  };
}

import { afterEach, expect, it } from 'vitest';
import { awsSecrets } from '../../../../lib/secrets/aws-secrets.js';
import { closeAll, json, serve } from '../loopback.js';

afterEach(closeAll);

/** Starts a stand-in of the AWS JSON protocol, for the two calls that are made. */
async function aws(status = 200, fault?: string) {
  const server = await serve((request, response) => {
    const { Name, SecretId } = request.body as unknown as { Name?: string; SecretId?: string };
    if (fault !== undefined) json(response, { __type: fault, message: 'canary-message' }, status);
    else if (Name === '/outwait/token') json(response, { Parameter: { Value: 'from ssm' } });
    else if (SecretId === 'api') json(response, { SecretString: 'canary from secrets manager' });
    else json(response, { __type: Name === undefined ? 'ResourceNotFoundException' : 'ParameterNotFound' }, 400);
  });
  return { server, secrets: awsSecrets({ endpoint: new URL(server.url).origin }) };
}

it('reads a parameter, decrypted, and a secret', async () => {
  const { server, secrets } = await aws();
  expect(await secrets.readParameter('/outwait/token')).toBe('from ssm');
  expect(await secrets.readSecret('api')).toBe('canary from secrets manager');
  expect(server.received.map(({ text, headers }) => [headers['x-amz-target'], JSON.parse(text) as unknown])).toEqual([
    ['AmazonSSM.GetParameter', { Name: '/outwait/token', WithDecryption: true }],
    ['secretsmanager.GetSecretValue', { SecretId: 'api' }],
  ]);
});

it('returns undefined for what does not exist', async () => {
  const { secrets } = await aws();
  expect([await secrets.readParameter('/other'), await secrets.readSecret('other')]).toEqual([undefined, undefined]);
});

it('names the class of a fault and nothing else of it', async () => {
  const { secrets } = await aws(400, 'AccessDeniedException');
  await expect(secrets.readParameter('/a')).rejects.toMatchObject({
    code: 'REMOTE_UNREACHABLE',
    message: 'a secret of the server cannot be read (AccessDeniedException)',
  });
});

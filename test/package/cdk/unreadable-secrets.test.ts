import { expect, test } from 'vitest';
import type { FunctionVariables } from '../../../cdk/bundle-request.js';
import { unreadableSecrets } from '../../../cdk/unreadable-secrets.js';
import { type AppSecret, secretsOfApp } from '../../../lib/aws/app-secrets.js';
import {
  defineApp,
  defineWorkflow,
  githubWebhook,
  mcpServer,
  secret,
  secretsManager,
  ssmParameter,
} from '../../../lib/index.js';

function lacking(named: readonly AppSecret[], given: Partial<FunctionVariables>): readonly string[] {
  const headers = Object.fromEntries(named.map((source, at) => [`x-${at}`, source]));
  const servers = { reports: mcpServer({ url: 'https://reports.example.com/mcp', auth: { headers } }) };
  const app = defineApp({ workflows: [], servers });
  return unreadableSecrets(secretsOfApp(app), { environment: {}, unknown: [], ...given });
}

const arn = 'arn:aws:secretsmanager:eu-west-1:111111111111:secret:prod/reports-Ab12Cd';

test('secrets that the settings do not name are said by setting, each once', () => {
  const named = [
    secret('KEY'),
    secretsManager('prod/a'),
    secretsManager('prod/a', { field: 'b' }),
    secretsManager('prod/c'),
    ssmParameter('/prod/d'),
  ];
  expect(lacking(named, { secrets: ['prod/reports'], parameters: [] })).toEqual([
    '"environment" lacks KEY',
    '"secrets" lacks prod/a, prod/c',
    '"parameters" lacks /prod/d',
  ]);
});

test.each<[string, AppSecret, Partial<FunctionVariables>]>([
  ['a variable', secret('KEY'), { environment: { KEY: '1' } }],
  ['a secret by name', secretsManager('prod/reports'), { secrets: ['prod/reports'] }],
  ['a secret by name that is given by its ARN', secretsManager('prod/reports'), { secrets: [arn] }],
  ['a secret by its ARN that is given by name', secretsManager(arn), { secrets: ['prod/reports'] }],
  ['a parameter without its first slash', ssmParameter('/prod/key'), { parameters: ['prod/key'] }],
  [
    'a parameter by its ARN',
    ssmParameter('arn:aws:ssm:eu-west-1:111111111111:parameter/prod/key'),
    { parameters: ['/prod/key'] },
  ],
])('%s is not lacking', (_, named, given) => {
  expect(lacking([named], given)).toEqual([]);
});

test('secrets of hooks count like those of servers', () => {
  const workflow = defineWorkflow({ name: 'deploy', run: () => Promise.resolve() });
  const auth = githubWebhook({ secret: [secretsManager('prod/new'), secretsManager('prod/old'), 'written out'] });
  const app = defineApp({ workflows: [workflow], hooks: { pushes: { auth, workflow, start: () => undefined } } });
  const given = { environment: {}, unknown: [], secrets: ['prod/new'] };
  expect(unreadableSecrets(secretsOfApp(app), given)).toEqual(['"secrets" lacks prod/old']);
});

test('what is known only once it is deployed is not lacking', () => {
  expect(lacking([secretsManager('prod/a'), ssmParameter('/prod/b')], {})).toEqual([]);
  const token = '${Token[TOKEN.1]}';
  const given = { environment: { NAME: token }, unknown: ['NAME'], secrets: [] };
  expect(lacking([secretsManager(`${token}/a`)], given)).toEqual([]);
});

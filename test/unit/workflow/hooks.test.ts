import { describe, expect, it } from 'vitest';
import {
  defineApp,
  defineWorkflow,
  githubWebhook,
  secret,
  standardWebhook,
  type HookConfig,
} from '../../../lib/index.js';

const deploy = defineWorkflow<{ commit: string }>({ name: 'deploy', run: () => Promise.resolve('done') });
const other = defineWorkflow({ name: 'other', run: () => Promise.resolve('done') });
const auth = githubWebhook({ secret: secret('GITHUB_WEBHOOK_SECRET') });
const start = (): undefined => undefined;

describe('the hooks of an app', () => {
  it('are kept by their names, with their secrets as a list', () => {
    const { hooks } = defineApp({
      workflows: [deploy],
      hooks: {
        pushes: { auth, workflow: deploy, start },
        approvals: { auth: standardWebhook({ secret: ['whsec_a', 'whsec_b'] }), workflow: deploy, signal: start },
      },
    });
    expect(hooks).toEqual({
      pushes: {
        auth: { scheme: 'github', secrets: [{ kind: 'environment', name: 'GITHUB_WEBHOOK_SECRET' }] },
        workflow: deploy,
        start,
      },
      approvals: {
        auth: { scheme: 'standardWebhooks', secrets: ['whsec_a', 'whsec_b'] },
        workflow: deploy,
        signal: start,
      },
    });
    expect(defineApp({ workflows: [] }).hooks).toEqual({});
  });

  it.each<[string, string, unknown, string]>([
    ['a name', 'a/b', {}, 'the name must be letters, digits, ".", "_" or "-", at most 64'],
    ['no auth', 'a', { auth: undefined }, 'auth must come from githubWebhook() or the like'],
    ['auth of a server', 'a', { auth: { bearer: 'canary' } }, 'auth must come from githubWebhook() or the like'],
    ['no secrets', 'a', { auth: githubWebhook({ secret: [] }) }, 'auth must have 1 to 8 secrets'],
    [
      'nine secrets',
      'a',
      { auth: githubWebhook({ secret: Array(9).fill('canary') as string[] }) },
      'auth must have 1 to 8 secrets',
    ],
    ['an empty secret', 'a', { auth: githubWebhook({ secret: '' }) }, 'auth: a secret is empty'],
    ['a foreign workflow', 'a', { workflow: other }, 'workflow must be one of the workflows of the app'],
    ['no workflow', 'a', { workflow: undefined }, 'workflow must be one of the workflows of the app'],
    ['nothing to do', 'a', { start: undefined }, 'exactly one of start and signal must be there, and be a function'],
    ['both', 'a', { signal: start }, 'exactly one of start and signal must be there, and be a function'],
    ['no function', 'a', { start: 'now' }, 'exactly one of start and signal must be there, and be a function'],
  ])('are refused with %s', (_, name, change, problem) => {
    const hook = { auth, workflow: deploy, start, ...(change as object) } as HookConfig;
    expect(() => defineApp({ workflows: [deploy], hooks: { [name]: hook } })).toThrow(`hooks: "${name}": ${problem}`);
    expect(() => defineApp({ workflows: [deploy], hooks: { [name]: hook } })).not.toThrow(/canary/);
  });
});

import {
  bearerWebhook,
  defineApp,
  defineWorkflow,
  githubWebhook,
  secret,
  slackWebhook,
  standardWebhook,
  stripeWebhook,
  type HookEvent,
} from 'outwait';
import { createTestApp, signedDelivery } from 'outwait/testing';
import { describe, expect, it } from 'vitest';

const order = defineWorkflow<{ n: number }>({ name: 'order', run: (_ctx, { n }) => Promise.resolve(n) });
const start = ({ body }: HookEvent) => ({ input: body as { n: number } });
const presets = {
  github: githubWebhook,
  slack: slackWebhook,
  stripe: stripeWebhook,
  standardWebhooks: standardWebhook,
  bearer: bearerWebhook,
};
const text = `whsec_${Buffer.from('a canary').toString('base64')}`;

describe.each(Object.keys(presets) as (keyof typeof presets)[])('a signed delivery of %s', (scheme) => {
  const auth = presets[scheme]({ secret: secret('SENDER') });
  const config = defineApp({ workflows: [order], hooks: { orders: { auth, workflow: order, start } } });
  const sign = (app: ReturnType<typeof createTestApp>, more: object = {}) =>
    signedDelivery(scheme, { secret: text, body: '{"n":7}', atMs: app.clock.nowMs(), ...more });

  it('is taken once by the hook that knows the secret', async () => {
    const app = createTestApp(config, { secrets: { SENDER: text } });
    const started = await app.receive('orders', sign(app));
    expect(started).toMatchObject({ outcome: 'started' });
    expect(await app.receive('orders', sign(app))).toEqual({ ...started, outcome: 'known' });
    expect(await app.runToEnd('runId' in started ? started.runId : '')).toMatchObject({ result: 7 });
  });

  it('is refused under another secret, with another body, and where the secret is not there', async () => {
    const app = createTestApp(config, { secrets: { SENDER: text } });
    const other = `whsec_${Buffer.from('another').toString('base64')}`;
    await expect(app.receive('orders', sign(app, { secret: other }))).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    if (scheme !== 'bearer')
      await expect(app.receive('orders', { ...sign(app), body: '{"n":8}' })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
    const poor = createTestApp(config);
    await expect(poor.receive('orders', sign(poor))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('a delivery without a proof', () => {
  const config = (start: (event: HookEvent) => never | { input: { n: number } }) =>
    defineApp({
      workflows: [order],
      hooks: { orders: { auth: githubWebhook({ secret: 'x' }), workflow: order, start } },
    });

  it('is each time another one, unless it has an id', async () => {
    const app = createTestApp(config(start));
    const runs = new Set<unknown>();
    for (const deliveryId of [undefined, undefined, 'a', 'a'])
      runs.add(JSON.stringify(await app.deliver('orders', { body: { n: 1 }, ...(deliveryId && { deliveryId }) })));
    expect(runs.size).toBe(4);
    expect([...runs].filter((run) => String(run).includes('known'))).toHaveLength(1);
  });

  it('shows why the function of the hook failed', async () => {
    const cause = new Error('no such order');
    const app = createTestApp(
      config(() => {
        throw cause;
      }),
    );
    await expect(app.deliver('orders', { body: {} })).rejects.toMatchObject({ code: 'INTERNAL', cause });
    await expect(app.deliver('other', { body: {} })).rejects.toThrow('the app has no hook "other"');
  });
});

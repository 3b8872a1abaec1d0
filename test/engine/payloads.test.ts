import { randomBytes } from 'node:crypto';
import { defineApp, defineWorkflow } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { createCipher } from '../../lib/store/cipher.js';

const big = defineWorkflow({
  name: 'big',
  // Hex of random bytes: compression does not make it small.
  run: async (ctx) => ctx.step('make', () => ({ text: randomBytes(950_000).toString('hex'), grüße: 'ü'.repeat(10) })),
});

test.each([undefined, createCipher([{ keyId: 'k1', secret: new Uint8Array(32) }])])('a result of 1.9 MB arrives whole', async (cipher) => {
  const app = createTestApp(defineApp({ workflows: [big] }), cipher === undefined ? {} : { cipher });
  const runId = await app.start(big);
  const outcome = await app.runToEnd(runId);
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome).slice(0, 500));
  expect((outcome.result as { text: string }).text).toHaveLength(1_900_000);
});

import { test } from 'vitest';
import { call, play } from './scene.js';
test('probe', async () => {
  const p = await play({
    run: async (ctx, step) => [await step('s1'), await call(ctx, 'r1'), await step('s2')],
    callers: (w, r) => { w.settleAt(30, r, '2', 'x'); }, script: [], endS: 200,
  });
  console.log(p.world.trace.filter((l) => !/sweep/.test(l)).join('\n'), p.outcome, p.violations, p.unplayed);
});
test('terminate during a step', async () => {
  const p = await play({
    run: async (ctx, step) => { for (let i = 0; i < 10; i++) await step(`s${i}`); return 'done'; },
    callers: (w, r) => { w.stopAt(4.5, r, 'terminate', 'x'); }, script: [], endS: 200,
  });
  console.log(p.world.trace.filter((l) => !/sweep/.test(l)).join('\n'), p.outcome, p.violations, p.unplayed);
});

import { expect, it } from 'vitest';
import { answerWith, askPerson } from 'outwait';
import { aFlow, started, WatchedServer, eventTypes } from './support.js';

it('infinity', async () => {
  const seen: unknown[] = [];
  const flow = aFlow(async (ctx) => {
    const o = await ctx.callRemoteTask({ server: 'reports', tool: 'x' });
    seen.push((o.result as any).n);
    await ctx.sleep('s' as any, { seconds: 5 } as any).catch?.(() => 0);
    return (o.result as any).n === null ? 'null' : 'inf';
  });
  const server = new WatchedServer({ start: () => ({ kind: 'ended', end: { kind: 'completed', result: { n: Infinity }, isError: false } }) as any });
  const run = await started(flow, { reports: server });
  const out = await run.app.runToEnd(run.runId).catch((e) => e);
  console.log(seen, out);
});
it('a new question each poll', async () => {
  let n = 0;
  const server = new WatchedServer({ read: () => ({ kind: 'working', state: 'input_required', questions: [{ key: `k${n++}`, kind: 'form', message: 'x' }] }) });
  (server as any).answer = async () => ({ kind: 'done' });
  const flow = aFlow((ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'x', timeout: { hours: 24 }, onInput: answerWith({ a: 1 }) }));
  const run = await started(flow, { reports: server });
  await run.app.pass({ hours: 2 });
  console.log('events after 2h', (await eventTypes(run)).length, n);
});
it('big questions', async () => {
  const big = Array.from({ length: 64 }, (_, i) => ({ key: `k${i}`, kind: 'form' as const, message: 'x', schema: { type: 'object', x: 'y'.repeat(60_000) } }));
  const server = new WatchedServer({ read: () => ({ kind: 'working', state: 'input_required', questions: big }) });
  let answers = 0;
  (server as any).answer = async () => (answers++, { kind: 'done' });
  const flow = aFlow((ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'x', timeout: { hours: 24 }, onInput: askPerson() }));
  const run = await started(flow, { reports: server });
  await run.app.pass({ minutes: 10 });
  const l = await run.app.inputs();
  console.log('inputs', l.length, JSON.stringify(l).length, (await eventTypes(run)).length);
});
it('ttl', async () => {
  for (const ttlMs of [1e300, 1e-200]) {
  const server = new WatchedServer({ read: () => ({ kind: 'working', state: 'working', ttlMs }) });
  const flow = aFlow((ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'x', timeout: { hours: 24 } }));
  const run = await started(flow, { reports: server });
  await run.app.pass({ minutes: 10 });
  console.log('reads', server.readAtMs.length);
  }
});

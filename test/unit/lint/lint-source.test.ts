import { describe, expect, it } from 'vitest';
import { lintSource } from '../../../lib/lint/lint-source.js';

/** Returns the findings in a file, as `line:column rule`. */
const found = (text: string): readonly string[] =>
  lintSource('flow.ts', text).map(({ line, column, rule }) => `${line}:${column} ${rule}`);

/** Returns the findings in the body of a workflow, whose first line is 1. Imports stand in front of it. */
function foundInRun(body: string, imports = ''): readonly string[] {
  const text = `${imports} import { defineWorkflow } from 'outwait'; export default defineWorkflow({ name: 'a', run: async (ctx, input) => {\n${body}\n} });`;
  return lintSource('flow.ts', text).map(({ line, column, rule }) => `${line - 1}:${column} ${rule}`);
}

describe('in a workflow, lint finds (EN-11)', () => {
  it.each([
    ['the time of now', 'const now = Date.now();', '1:13 no-clock'],
    ['a date of now', 'return new Date();', '1:8 no-clock'],
    ['a date of now without brackets', 'return new Date;', '1:8 no-clock'],
    ['a text of now', 'return Date(0);', '1:8 no-clock'],
    ['a high-resolution time', 'return performance.now();', '1:8 no-clock'],
    ['chance', 'return [1].map(() => Math.random());', '1:22 no-random'],
    ['chance that is handed on', 'return [1].map(Math.random);', '1:16 no-random'],
    ['chance by its written name', "return Math['random']();", '1:8 no-random'],
    ['a random id', 'return crypto.randomUUID();', '1:8 no-random'],
    ['random bytes', 'crypto.getRandomValues(new Uint8Array(4));', '1:1 no-random'],
    ['a timer', 'setTimeout(() => 1, 5);', '1:1 no-timers'],
    ['an interval', 'setInterval(() => 1, 5);', '1:1 no-timers'],
    ['an immediate', 'await new Promise((done) => setImmediate(done));', '1:29 no-timers'],
    ['a request', "await fetch('https://example.com');", '1:7 no-network'],
    ['a global by way of globalThis', 'await globalThis.fetch(input);', '1:7 no-network'],
    ['a global that is put into an object', 'return { fetch };', '1:10 no-network'],
    ['a variable of the environment', "return process.env['REGION'];", '1:8 no-environment'],
    ['the environment', 'return { ...process.env };', '1:13 no-environment'],
    [
      'a use of the global in a function inside of it',
      'const f = () => { const g = function () { return Date.now(); }; };',
      '1:50 no-clock',
    ],
    ['the default of a parameter', 'const f = (at = Date.now()) => at;', '1:17 no-clock'],
    [
      'an argument of a step that is not its work',
      'await ctx.step(`s${Date.now()}`, () => 1, { timeout: { seconds: Math.random() } });',
      ['1:20 no-clock', '1:65 no-random'],
    ],
  ])('%s', (_, body, expected) => {
    expect(foundInRun(body)).toEqual([expected].flat());
  });

  it.each([
    ["import { randomUUID } from 'node:crypto';", 'return randomUUID();', '1:8 no-random'],
    ["import { randomUUID as id } from 'crypto';", 'return id();', '1:8 no-random'],
    ["import crypto from 'node:crypto';", 'return crypto.randomBytes(4);', '1:8 no-random'],
    ["import * as crypto from 'crypto';", 'return crypto.randomInt(4);', '1:8 no-random'],
    ["import { setTimeout as sleep } from 'node:timers/promises';", 'await sleep(5);', '1:7 no-timers'],
    ["import process from 'node:process';", 'return process.env.HOME;', '1:8 no-environment'],
    ["import { env } from 'process';", 'return env.HOME;', '1:8 no-environment'],
    ["import { request } from 'undici';", 'return request(input);', '1:8 no-network'],
  ])('what is imported: %s', (imports, body, expected) => {
    expect(foundInRun(body, imports)).toEqual([expected]);
  });

  it.each([
    ['a step', "ctx.step('a', () => 1);"],
    ['a sleep', 'ctx.sleep({ hours: 1 });'],
    ['a remote call', "ctx.callRemoteTask({ server: 'reports', tool: 'export' });"],
    ['a child', 'ctx.child(other, 1);'],
    ['a new run', 'ctx.continueAsNew();'],
    ['a wait with a handler', "ctx.signal('go').then(() => 1).catch(() => 2);"],
    ['a wait on a condition', "input.late && ctx.step('a', () => 1);"],
    ['a wait of one of two', "input.late ? 1 : (ctx.step('a', () => 1));"],
  ])('that nobody waits for %s', (_, body) => {
    expect(foundInRun(body)).toEqual([expect.stringMatching(/^1:\d+ no-floating-wait$/)]);
  });

  it('the waits of a branch, of a scope and of a shielded part, by whatever name', () => {
    const body = `await ctx.race([async (one) => { one.sleep({ hours: 1 }); }, async (two) => two.sleep({ hours: 2 })]);
await ctx.scope(async (inner, handle) => { inner.step('a', () => 1); handle.cancel(); });
await ctx.shield(async (kept) => { await kept.shield(async (most) => { most.step('b', () => 1); }); });`;
    expect(foundInRun(body)).toEqual(['1:34 no-floating-wait', '2:44 no-floating-wait', '3:72 no-floating-wait']);
  });

  it('says what is there and what to write in its place', () => {
    const body = `defineWorkflow({ name: 'a', async run(ctx) { ctx.step('a', () => 1); return Date.now(); } });`;
    expect(lintSource('flow.ts', body).map(({ message }) => message)).toEqual([
      'the promise of ctx.step(…) is dropped; await it, or write void before it',
      'Date.now differs on replay; use ctx.now()',
    ]);
  });
});

describe('in a workflow, lint lets pass', () => {
  it.each([
    [
      'the work of a step',
      "await ctx.step('a', async () => { await fetch('x'); return [Date.now(), Math.random(), process.env.A]; });",
    ],
    ['the work of a compensation', "await ctx.saga(async (saga) => { saga.compensate('a', () => fetch('x')); });"],
    [
      'work that is declared beside the call',
      "const load = async () => fetch('x'); function pay() { return Date.now(); } await ctx.step('a', load); await ctx.step('b', pay);",
    ],
    ['the work of a step of a branch', "await ctx.race([async (branch) => branch.step('a', () => Date.now())]);"],
    ['a date of an argument', 'return [new Date(ctx.now()), Date.UTC(2026), Date.parse(input), Math.max(1, 2)];'],
    [
      'what the context gives',
      'return [ctx.now(), ctx.random(), ctx.uuid(), ctx.log.info("x"), ctx.progress(1), ctx.patched("p")];',
    ],
    [
      'local names',
      'const fetch = () => 1; const { setTimeout } = input; return [fetch(), setTimeout(), input.fetch(), input.process.env];',
    ],
    ['keys', 'return { fetch: 1, setTimeout: { env: 2 }, Date: 3 };'],
    ['types', 'const at = input as typeof Date.now; return at;'],
    [
      'statements that wait for nothing',
      "ctx.log.info('x'); ctx.progress(1); ctx.onQuery('q', () => 1); ctx.patched('p');",
    ],
    [
      'a wait that is kept',
      "const step = ctx.step('a', () => 1); const rest = [ctx.sleep({ hours: 1 })]; await Promise.race([step, ...rest]);",
    ],
    ['a wait that is given back', "const f = () => ctx.step('a', () => 1); return f();"],
    ['a wait that is meant to float', "void ctx.step('a', () => 1);"],
    ['waits of something else of that name', "const other = input; other.step('a', () => 1); input.sleep(1);"],
  ])('%s', (_, body) => {
    expect(foundInRun(body)).toEqual([]);
  });
});

describe('lint looks at', () => {
  it('run as a method, a function of the file, or in shorthand', () => {
    expect(found("defineWorkflow({ name: 'a', async run(ctx) { return Date.now(); } });")).toEqual(['1:53 no-clock']);
    expect(found("async function go(ctx) { return Date.now(); } defineWorkflow({ name: 'a', run: go });")).toEqual([
      '1:33 no-clock',
    ]);
    expect(found("const run = async (ctx) => Date.now(); defineWorkflow({ name: 'a', run });")).toEqual([
      '1:28 no-clock',
    ]);
  });

  it('defineWorkflow under another name, or of the whole module', () => {
    expect(
      found("import { defineWorkflow as flow } from 'outwait'; flow({ name: 'a', run: async () => Date.now() });"),
    ).toEqual(['1:86 no-clock']);
    expect(
      found("import * as o from 'outwait'; o.defineWorkflow({ name: 'a', run: async () => Date.now() });"),
    ).toEqual(['1:78 no-clock']);
  });

  it('functions that take a context, at whatever place', () => {
    expect(
      found(`import type { WorkflowContext, WorkflowContext as Ctx } from 'outwait';
export async function one(input: string, own: WorkflowContext) { own.sleep({ hours: 1 }); return Date.now(); }
const two = (ctx: Ctx) => Math.random();`),
    ).toEqual(['2:66 no-floating-wait', '2:98 no-clock', '3:27 no-random']);
  });

  it('a function once, also when it is inside of another one', () => {
    expect(
      found(
        "defineWorkflow({ name: 'a', async run(ctx) { const f = (c: WorkflowContext) => Date.now(); await f(ctx); } });",
      ),
    ).toEqual(['1:80 no-clock']);
  });

  it('nothing else', () => {
    expect(
      found("export const at = Date.now(); export const load = (ctx) => { ctx.step('a'); return fetch('x'); };"),
    ).toEqual([]);
    expect(found("defineJob({ name: 'a', run: async () => Date.now() });")).toEqual([]);
  });
});

describe('lint', () => {
  it('leaves a line alone for the rule that the comment before it names', () => {
    expect(
      foundInRun(`// outwait-disable-next-line no-clock -- for the log only
log(Date.now(), Math.random());
log(Date.now());
// outwait-disable-next-line
log(Date.now());`),
    ).toEqual(['2:17 no-random', '3:5 no-clock', '5:5 no-clock']);
  });

  it('says where a file cannot be parsed', () => {
    expect(found('const a = ;\n')).toEqual(['1:11 syntax']);
  });

  it('reads JavaScript too', () => {
    const text = "export default defineWorkflow({ name: 'a', run: async (ctx) => Date.now() });";
    expect(lintSource('flow.mjs', text)).toMatchObject([{ rule: 'no-clock', line: 1, column: 64 }]);
  });
});

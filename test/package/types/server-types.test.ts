import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import { renderTypes } from '../../../lib/cli/server-types/render.js';
import type { Offer } from '../../../lib/remote/try/offers.js';

// The compiler is asked what it makes of workflows beside a file of `outwait types`. In this program of ours the file
// would hold for all code.

const root = join(import.meta.dirname, '../../..');

const hostile = '*/ } evil(); /* `${evil()}` "; evil(); // \n\u2028 evil() \u202e @ts-expect-error';

const reports: readonly Offer[] = [
  {
    name: 'start_export',
    inputSchema: {
      type: 'object',
      properties: { month: { type: 'string' }, pages: { type: 'array', items: { type: 'integer' } } },
      required: ['month'],
    },
    outputSchema: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] },
  },
  { name: 'ping', inputSchema: { type: 'object', properties: {} } },
  { name: 'any', inputSchema: { $ref: 'https://schemas.example/any.json' } },
];

const odd: readonly Offer[] = [
  { name: hostile, description: hostile, inputSchema: { properties: { [hostile]: { enum: [hostile] } } } },
  { name: '@ts-expect-error', description: '@ts-expect-error', outputSchema: { properties: { JsonValue: {} } } },
  { name: '__proto__', inputSchema: JSON.parse('{"properties":{"__proto__":{"type":"string"},"":{}}}') as JsonValue },
  { name: 'constructor', inputSchema: { tsType: 'evil()', type: ['string; evil()'] } },
  {
    name: 'shapes',
    inputSchema: {
      allOf: [{ $ref: '#/$defs/node' }, { anyOf: [{ required: ['a'] }, { type: ['null', 'array'] }] }],
      patternProperties: { '^x': {} },
      $defs: { node: { properties: { kids: { items: { $ref: '#/$defs/node' }, type: 'array' } } } },
    },
    outputSchema: {
      prefixItems: [{ type: 'string' }, { enum: ['a', null] }],
      items: { additionalProperties: { type: 'number' }, properties: { a: { type: 'string' } } },
      minItems: 1,
    },
  },
];

const servers = renderTypes(
  [
    { name: 'odd.name-1', offers: { kind: 'tools', offers: odd, isCut: true } },
    { name: 'other', offers: undefined },
    { name: 'reports', offers: { kind: 'tools', offers: reports, isCut: false } },
    { name: 'silent', offers: { kind: 'skills', offers: undefined } },
    { name: 'supplier', offers: { kind: 'skills', offers: [{ name: 'quote' }] } },
  ],
  'outwait types',
);

const head = `
  import { dataOf, type RemoteCall, type RemoteOutcome, type TypedOutcome, type WorkflowContext } from 'outwait';
  import { z } from 'zod';
  interface Month { month: string }
  interface Order { item: { id: number; parts: readonly string[] }; note?: string }
  declare const ctx: WorkflowContext;
  declare const month: Month;
  declare const order: Order;
  declare const someServer: string;
  declare const anyCall: RemoteCall;
  const rows = z.object({ rows: z.number() });
  function itIs<Wanted>(value: Wanted): Wanted { return value; }
  export type Used = [RemoteOutcome, TypedOutcome<1>, RemoteCall];
  void [dataOf, z, ctx, month, order, someServer, anyCall, rows, itIs];
`;

/** Statements, each in a file of its own, and what the compiler says of it. */
const right = {
  'a tool with its arguments': `await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: { month: 'a', pages: [1] as readonly number[] } });`,
  'arguments that are an interface': `await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: month });`,
  'a tool without arguments': `await ctx.callRemoteTask({ server: 'reports', tool: 'ping' });`,
  'a tool of whose arguments nothing is known': `await ctx.callRemoteTask({ server: 'reports', tool: 'any', arguments: order });`,
  'what a tool gives': `itIs<{ rows: number } | undefined>(dataOf(await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: month })));`,
  'what a tool gives that does not say so': `itIs<RemoteOutcome>(await ctx.callRemoteTask({ server: 'reports', tool: 'ping' }));`,
  'a schema of the author': `itIs<TypedOutcome<{ rows: number }>>(await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: month, output: rows }));`,
  'a schema, for an agent': `itIs<number>((await ctx.callRemoteTask({ server: 'supplier', skill: 'quote', output: rows })).data.rows);`,
  'a skill with arguments that are an interface': `await ctx.callRemoteTask({ server: 'supplier', skill: 'quote', arguments: order });`,
  'a message to an agent': `await ctx.callRemoteTask({ server: 'supplier', message: { parts: [{ text: 'x' }] } });`,
  'any skill of an agent that lists none': `await ctx.callRemoteTask({ server: 'silent', skill: 'x' });`,
  'anything of a server that was not asked': `await ctx.callRemoteTask({ server: 'other', tool: 'x', arguments: order });`,
  'anything of a server that is known at run time only': `await ctx.callRemoteTask({ server: someServer, tool: 'x', arguments: order });`,
  'a call that was put together elsewhere': `await ctx.callRemoteTask(anyCall);`,
  'a tool of a server that has more than were read': `await ctx.callRemoteTask({ server: 'odd.name-1', tool: 'beyond' });`,
  'a handler of questions': `await ctx.callRemoteTask({ server: 'reports', tool: 'ping', onInput: (question, inner) => ({ action: 'accept', content: { text: question.message ?? inner.runId } }) });`,
  'a task of somebody else': `itIs<TypedOutcome<{ rows: number }>>(await ctx.attachRemoteTask({ server: 'reports', taskId: 't', output: rows }));`,
};

const wrong: Readonly<Record<string, readonly [statement: string, problem: RegExp]>> = {
  'a server': [`await ctx.callRemoteTask({ server: 'report', tool: 'ping' });`, /'"report"' is not assignable/],
  'the server of an attachment': [
    `await ctx.attachRemoteTask({ server: 'report', taskId: 't' });`,
    /'"report"' is not assignable/,
  ],
  'a tool': [
    `await ctx.callRemoteTask({ server: 'reports', tool: 'start_exprt', arguments: month });`,
    /'"start_exprt"' is not assignable.*Did you mean '"start_export"'/,
  ],
  'a skill': [
    `await ctx.callRemoteTask({ server: 'supplier', skill: 'quotes' });`,
    /'"quotes"' is not assignable to type '"quote"'/,
  ],
  'a tool for an agent': [
    `await ctx.callRemoteTask({ server: 'supplier', tool: 'quote' });`,
    /not assignable to type 'never'/,
  ],
  'a skill for a server of tools': [
    `await ctx.callRemoteTask({ server: 'reports', skill: 'ping' });`,
    /not assignable to type 'never'/,
  ],
  'a message for a server of tools': [
    `await ctx.callRemoteTask({ server: 'reports', message: { parts: [] } });`,
    /not assignable to type 'never'/,
  ],
  'an argument': [
    `await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: { month: 5 } });`,
    /'number' is not assignable to type 'string'/,
  ],
  'the name of an argument': [
    `await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: { month: 'a', page: 1 } });`,
    /'page' does not exist/,
  ],
  'no arguments': [`await ctx.callRemoteTask({ server: 'reports', tool: 'start_export' });`, /'arguments' is missing/],
  'arguments of a tool that takes none': [
    `await ctx.callRemoteTask({ server: 'reports', tool: 'ping', arguments: { x: 1 } });`,
    /'number' is not assignable to type 'never'/,
  ],
  'an interface': [
    `await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: order });`,
    /'month' is missing/,
  ],
  'a function as an argument': [
    `await ctx.callRemoteTask({ server: 'other', tool: 'x', arguments: { at: () => 1 } });`,
    /not assignable to type 'never'/,
  ],
  'a list as the arguments of a tool': [
    `await ctx.callRemoteTask({ server: 'other', tool: 'x', arguments: [1] });`,
    /not assignable/,
  ],
  'what a tool gives': [
    `itIs<{ rows: string } | undefined>(dataOf(await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: month })));`,
    /'number' is not assignable to type 'string'/,
  ],
  'data that no schema has made': [
    `(await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: month })).data;`,
    /'data' does not exist/,
  ],
  'a timeout': [`await ctx.callRemoteTask({ server: 'reports', tool: 'ping', timeout: 5 });`, /'number'.*'Duration'/],
};

let folder = '';
let problems: ReadonlyMap<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-server-types-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const statements = new Map([
    ...Object.entries(right).map(([title, statement]) => [`right ${title}`, statement] as const),
    ...Object.entries(wrong).map(([title, [statement]]) => [`wrong ${title}`, statement] as const),
  ]);
  const fileOf = (title: string): string => join(folder, `${title.replaceAll(' ', '-')}.mts`);
  await writeFile(fileOf('servers'), servers);
  for (const [title, statement] of statements) await writeFile(fileOf(title), `${head}\n${statement}\n`);
  const titles = ['servers', ...statements.keys()];
  problems = problemsIn(new Map(titles.map((title) => [fileOf(title), title])));
}, 120_000);

afterAll(async () => rm(folder, { recursive: true, force: true }));

/** What the compiler says of each file, by its title. */
function problemsIn(titles: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const read = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile.bind(ts.sys)) as {
    readonly config: object;
  };
  const { options } = ts.parseJsonConfigFileContent({ ...read.config, include: [] }, ts.sys, root);
  const program = ts.createProgram([...titles.keys()], { ...options, noUnusedLocals: true });
  return new Map(
    [...titles].map(([file, title]) => {
      const source = program.getSourceFile(file);
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      return [title, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')).join('\n')];
    }),
  );
}

describe('beside a file of outwait types', () => {
  it('the file compiles, whatever servers say of themselves', () => {
    expect(problems.get('servers')).toBe('');
    expect(servers).toContain('evil');
  });

  it.each(Object.keys(right))('%s compiles', (title) => {
    expect(problems.get(`right ${title}`)).toBe('');
  });

  it.each(Object.entries(wrong))('%s that is wrong does not compile', (title, [, problem]) => {
    expect(problems.get(`wrong ${title}`)?.replaceAll(/\s+/g, ' ')).toMatch(problem);
  });
});

import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const reference = readFileSync(new URL('docs/reference.md', root), 'utf8');

/** Returns the names of an interface's own properties. */
function optionsOf(file: string, name: string): readonly string[] {
  const text = readFileSync(new URL(file, root), 'utf8');
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found = statements.find(
    (node): node is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(node) && node.name.text === name,
  );
  if (found === undefined) throw new Error(`${file} has no interface ${name}`);
  return found.members.map((member) => (member.name as ts.Identifier).text);
}

/** Returns the names in the first column of a table of the reference, by its heading and its first title. */
function rowsOf(heading: string, title: string): readonly string[] {
  const section = reference.split(/^#{2,3} /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const [, table = ''] = section.split(`\n\n| ${title} |`);
  const rows = table.split('\n').slice(2);
  const end = rows.findIndex((row) => !row.startsWith('|'));
  return rows
    .slice(0, end)
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)/g)].map(([, name]) => name!));
}

const app = 'lib/workflow/app.ts';
const context = 'lib/workflow/context.ts';
const ofEveryServer = optionsOf(app, 'ServerOptions');

test.each([
  ['Options of the app', 'option', optionsOf(app, 'AppConfig'), []],
  ['Options of a server', 'option', ofEveryServer, []],
  // A table may say more of an option that every server has.
  ['A2A agents', 'option', ['url', 'card', ...optionsOf(app, 'A2aAgentOptions')], ofEveryServer],
  ['MCP servers', 'option', optionsOf(app, 'McpServerConfig').filter((name) => name !== 'protocol'), ofEveryServer],
  [
    'Remote calls',
    'option',
    // The server is part of the target of a call.
    [...optionsOf(context, 'RemoteCallOptions'), ...optionsOf(context, 'RemoteWaitOptions')].filter(
      (name) => name !== 'server',
    ),
    [],
  ],
  ['Credentials of servers', '`auth`', optionsOf('lib/workflow/server-auth.ts', 'ServerAuth'), []],
  ['Credentials of servers', '`oauth`', optionsOf('lib/workflow/server-auth.ts', 'OAuthClient'), []],
  ['Limits of servers', '`limits`', optionsOf('lib/workflow/server-limits.ts', 'ServerLimits'), []],
  ['Options of a step', 'option', optionsOf('lib/workflow/step-options.ts', 'StepOptions'), []],
  ['Signed tokens', 'option', optionsOf('lib/workflow/jwt-options.ts', 'JwtOptions'), []],
  ['Jobs as plain tools', 'option', optionsOf('lib/workflow/server-jobs.ts', 'ServerJob'), []],
] as const)(
  'the reference has each option and no other: %s, %s',
  (heading, title, options: readonly string[], allowed: readonly string[]) => {
    const rows = rowsOf(heading, title);
    expect(rows.filter((name) => !allowed.includes(name) || options.includes(name)).sort()).toEqual(
      [...options].sort(),
    );
  },
);

import { type Command, Option } from 'commander';
import { type Role, roles } from '../../base/caller.js';
import type { NewKey } from '../../operations/requests/manage-keys.js';
import type { NamedKeyView } from '../../operations/named-key-view.js';
import type { NamedKeyList } from '../../operations/views/list-keys.js';
import { ApiClient } from '../api-client.js';
import { nameArgument, textArgument, wholeNumberArgument } from '../arguments.js';
import { common, type CommonFlags } from '../common-options.js';
import { print } from '../output.js';
import { printable } from '../printable.js';
import type { Screen } from '../screen.js';
import { formatTable } from '../table.js';
import { shortTime } from '../times.js';

/** Adds the commands for named keys, the credentials of callers. */
export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('manage the named keys of callers');
  common(keys.command('add'))
    .description('make a key; it is shown once')
    .argument('<name>', 'name of the caller: a-z, 0-9 and "-"', nameArgument)
    .addOption(
      new Option('--role <role...>', 'what the caller may do; may be repeated').choices(roles).makeOptionMandatory(),
    )
    .option('--tenant <tenant>', 'the caller sees only the runs of this tenant; default: of all', textArgument(64))
    .action(add);
  common(keys.command('list'))
    .description('list the keys, without their texts')
    .option('--limit <number>', 'maximum number of rows', wholeNumberArgument(1, 100), 20)
    .option('--cursor <text>', 'cursor of the previous page', textArgument(2_048))
    .action(list);
  common(keys.command('rotate'))
    .description('replace a key; the one before stays valid until it is revoked with --old')
    .argument('<name>', 'name of the key', nameArgument)
    .action(rotate);
  common(keys.command('revoke'))
    .description('revoke a key for good')
    .argument('<name>', 'name of the key', nameArgument)
    .option('--old', 'only the one before the last rotation')
    .action(revoke);
}

async function add(
  name: string,
  flags: CommonFlags & { readonly role: readonly Role[]; readonly tenant?: string },
): Promise<void> {
  // JSON omits undefined properties.
  const made = await new ApiClient(flags).post<NewKey>('/keys', { name, roles: flags.role, tenant: flags.tenant });
  print(flags, made, () => made.key);
}

async function list(flags: CommonFlags & { readonly limit: number; readonly cursor?: string }): Promise<void> {
  const query = new URLSearchParams({ limit: String(flags.limit) });
  if (flags.cursor !== undefined) query.set('cursor', flags.cursor);
  const page = await new ApiClient(flags).get<NamedKeyList>(`/keys?${query.toString()}`);
  print(flags, page, (screen) => formatKeys(page, screen));
}

async function rotate(name: string, flags: CommonFlags): Promise<void> {
  const made = await new ApiClient(flags).post<NewKey>(`/keys/${encodeURIComponent(name)}/rotate`, {});
  print(flags, made, () => made.key);
}

async function revoke(name: string, flags: CommonFlags & { readonly old?: boolean }): Promise<void> {
  const path = `/keys/${encodeURIComponent(name)}/revoke`;
  const key = await new ApiClient(flags).post<NamedKeyView>(path, flags.old === true ? { only: 'old' } : {});
  print(flags, key, () => (flags.old === true ? 'the old key is revoked' : 'revoked'));
}

function formatKeys({ keys, cursor }: NamedKeyList, screen: Screen): string {
  const more = cursor === undefined ? '' : `\n(there may be more: --cursor '${printable(cursor)}')`;
  if (keys.length === 0) return `no keys${more}`;
  const table = formatTable(
    [
      ['KEY', 'ROLES', 'TENANT', 'MADE', 'LAST USED', 'STATE'],
      ...keys.map(({ name, roles: given, tenant, createdAtMs, lastUsed, oldIsValid, revokedAtMs }) => [
        name,
        given.join(', '),
        tenant ?? '',
        shortTime(createdAtMs, screen),
        lastUsed ?? '',
        revokedAtMs !== undefined
          ? `revoked ${shortTime(revokedAtMs, screen)}`
          : oldIsValid
            ? 'valid, and the one before'
            : 'valid',
      ]),
    ],
    screen,
  );
  return table + more;
}

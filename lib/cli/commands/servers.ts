import type { Command } from 'commander';
import type { ServerList } from '../../operations/views/list-servers.js';
import { ApiClient } from '../api-client.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatServers } from '../format.js';
import { print } from '../output.js';

export function addServersCommand(program: Command): void {
  common(program.command('servers'))
    .description('list the remote servers with their state, as the workers see them')
    .action(servers);
}

async function servers(flags: CommonFlags): Promise<void> {
  const list = await new ApiClient(flags).get<ServerList>('/servers');
  print(flags, list, (screen) => formatServers(list.servers, screen));
}

import type { Command } from 'commander';
import { withJson } from '../common-options.js';
import { helpNote } from '../help-note.js';
import type { TypesFlags } from '../write-types.js';

export function addTypesCommand(program: Command): void {
  withJson(program.command('types'))
    .description('write types from the tools and skills of the servers, so that the compiler checks ctx.callRemoteTask')
    .argument('[servers...]', 'servers to read, by name; default: all. Of the others only the names are written')
    .option('--config <file>', 'configuration', 'outwait.config.ts')
    .option('--out <file>', 'default: outwait.servers.d.ts beside the configuration')
    .option('--check', 'write nothing; print what has changed since the file was written')
    .addHelpText(
      'after',
      helpNote(
        'The exit code is 1 if a server does not say what it offers, or with --check if the file is out of date. Calls no tool and needs no engine. The compiler must know the file: see "include" in tsconfig.json.',
      ),
    )
    .action(async (servers: readonly string[], flags: TypesFlags) => {
      // Loaded here, so that the other commands start fast.
      const { writeTypes } = await import('../write-types.js');
      await writeTypes(servers, flags);
    });
}

import type { Command } from 'commander';
import { withJson } from '../common-options.js';
import type { TypesFlags } from '../write-types.js';

export function addTypesCommand(program: Command): void {
  withJson(program.command('types'))
    .description('write types from the tools and skills of the servers, so that the compiler checks ctx.callRemoteTask')
    .argument('[servers...]', 'names in the configuration; default: all. Of the others nothing but the name is known')
    .option('--config <file>', 'the configuration', 'outwait.config.ts')
    .option('--out <file>', 'default: outwait.servers.d.ts beside the configuration')
    .option('--check', 'write nothing; say what has changed since the file was written')
    .addHelpText(
      'after',
      '\nThe exit code is 1 when a server does not say what it offers, or with --check when the file is another.\n' +
        'Nothing is called, and needs no engine. The compiler must be given the file: see "include" of tsconfig.json.',
    )
    .action(async (servers: readonly string[], flags: TypesFlags) => {
      // Loaded here, so that the other commands start fast.
      const { writeTypes } = await import('../write-types.js');
      await writeTypes(servers, flags);
    });
}

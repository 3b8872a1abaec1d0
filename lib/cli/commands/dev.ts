import { constants } from 'node:os';
import { defined } from '../../base/defined.js';
import { type Command, Option } from 'commander';
import { isEngineError } from '../../base/errors.js';
import type { EventBus } from '../../bus/event-bus.js';
import type { StoreKind } from '../../local/open-store.js';
import { originsArgument, urlArgument, wholeNumberArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { closedOutputCode, endWithReader, whenOutputCloses } from '../endings.js';
import { printProblem } from '../output.js';
import { printableJson } from '../printable.js';

/** A record, so that the compiler names this place when a store is added; the stores themselves are loaded later. */
const storeKinds: Readonly<Record<StoreKind, true>> = { dynamodb: true, memory: true };

interface Flags {
  readonly port: number;
  readonly config: string;
  readonly state: string;
  readonly store?: StoreKind;
  readonly dynamodbEndpoint?: string;
  readonly allowOrigin?: readonly string[];
  readonly publicUrl?: string;
  readonly events?: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

export function addDevCommand(program: Command): void {
  program
    .command('dev')
    .description('run workflows on this machine')
    .option('--port <number>', 'port on 127.0.0.1; 0 picks a free one', wholeNumberArgument(0, 65_535), 4_000)
    .option('--config <file>', 'configuration, whose default export is defineApp({ … })', 'outwait.config.ts')
    .option('--state <folder>', 'folder for the runs', '.outwait')
    .addOption(
      new Option('--store <kind>', 'default: dynamodb if dynoxide is installed, otherwise memory').choices(
        Object.keys(storeKinds),
      ),
    )
    .addOption(
      new Option('--dynamodb-endpoint <url>', 'use a DynamoDB stand-in that is already running')
        .argParser(urlArgument)
        .conflicts('store'),
    )
    .option(
      '--allow-origin <origin>',
      'allow web pages of this origin to use the API; may be repeated',
      originsArgument,
    )
    .addOption(
      new Option(
        '--public-url <url>',
        'address under which agents elsewhere reach this machine, such as that of a tunnel',
      ).argParser(urlArgument),
    )
    .option('--events', 'print lifecycle events, one JSON object per line')
    .addOption(
      new Option('--log-level <level>', 'level of the log on stderr')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('warn'),
    )
    .action(runDev);
}

async function runDev(flags: Flags): Promise<void> {
  // First, so that a signal during the start still stops what was started.
  const ending = firstEnding();
  await endWithReader();
  // Loaded here, so that the other commands start fast.
  const [{ startDev }, { createLog }, { logRejections }, { pino }] = await Promise.all([
    import('../../local/dev.js'),
    import('../../process/log.js'),
    import('../../process/rejections.js'),
    import('pino'),
  ]);
  const log = createLog({ level: flags.logLevel, destination: pino.destination({ fd: 2, sync: true }) });
  process.setSourceMapsEnabled(true);
  logRejections(log);
  let end: number | Error;
  try {
    const dev = await startDev({
      port: flags.port,
      configFile: flags.config,
      stateFolder: flags.state,
      log,
      ...defined({
        store: flags.store,
        dynamodbEndpoint: flags.dynamodbEndpoint,
        allowedOrigins: flags.allowOrigin,
        publicUrl: flags.publicUrl,
        bus: flags.events === true ? printedEvents : undefined,
      }),
    });
    console.log(dev.ready);
    end = await Promise.race([ending, dev.lost]);
    await dev.stop();
  } catch (error) {
    if (isEngineError(error)) throw new CliError(error.message, exitCodes.failed);
    throw error;
  }
  if (end instanceof Error) printProblem(end.message);
  // Exits explicitly: idle connections to remote servers would keep the process alive for seconds.
  process.exit(end instanceof Error ? exitCodes.failed : end);
}

const printedEvents: EventBus = {
  publish: async (events) => {
    for (const event of events) console.log(printableJson(event));
  },
};

/**
 * Resolves with the exit code when the process is to end: at the first signal, or when nobody reads the output. A second
 * signal ends the process at once, and with it the database.
 */
function firstEnding(): Promise<number> {
  let isEnding = false;
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (isEnding) process.exit(128 + constants.signals[signal]);
        isEnding = true;
        resolve(exitCodes.ok);
      });
    }
    whenOutputCloses(() => {
      isEnding = true;
      resolve(closedOutputCode);
    });
  });
}

import type { Log } from '../base/log.js';

/**
 * From now on a promise that was rejected and that nobody awaits is logged. The runtime of Lambda would end the process,
 * and with it the turns of other runs: a workflow may well await later what has failed already.
 */
export function logRejections(log: Log): void {
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (error) => {
    log.error('unhandled rejection', { error });
  });
}

import type { Log } from '../base/log.js';

/**
 * Logs promises that are rejected while nothing awaits them. The Lambda runtime would end the process, and with it the
 * turns of other runs, although a workflow may still come to await what has already failed.
 */
export function logRejections(log: Log): void {
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (error) => {
    log.error('unhandled rejection', { error });
  });
}

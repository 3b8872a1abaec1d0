import type { PackageParts } from './package-parts.js';

/**
 * Of pino a bundle gets what writes lines. `lib/process/log.ts` uses no transport, which would be a thread, no second stream and
 * no redaction of pino's, and hands it nothing that JSON.stringify refuses. It names files inside the package, whose version
 * is pinned; the tests of bundles write lines with them.
 */
export const pinoParts: PackageParts = {
  name: 'pino',
  entry: "module.exports = require('pino/pino.js');",
  leftOut: [
    {
      files: /[\\/]pino[\\/]lib[\\/](transport|multistream|redaction)\.js$/,
      instead: "module.exports = () => { throw new Error('this part of pino is not in the bundle'); };",
    },
    {
      files: /[\\/]node_modules[\\/]safe-stable-stringify[\\/]/,
      instead: 'module.exports = { configure: () => JSON.stringify };',
    },
  ],
};

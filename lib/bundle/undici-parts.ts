import type { PackageParts } from './package-parts.js';

/**
 * Of undici, 552 KB when minified, a bundle gets the parts that `lib/remote/http/http.ts` uses: half of it is fetch, WebSocket,
 * caches and mocks. It names files inside the package, whose version is pinned; the tests of bundles run such ones.
 */
export const undiciParts: PackageParts = {
  name: 'undici',
  entry: `
    const api = require('undici/lib/api');
    Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, api);
    module.exports = {
      Agent: require('undici/lib/dispatcher/agent'),
      buildConnector: require('undici/lib/core/connect'),
      request: (url, options) =>
        api.request.call(options.dispatcher, { ...options, origin: url.origin, path: url.pathname + url.search }),
    };
  `,
  // Loaded by undici where a body is a form or a stream, or where the processor knows no SIMD, which Lambda's do.
  leftOut: [
    {
      files: /[\\/]undici[\\/]lib[\\/](web[\\/]|llhttp[\\/]llhttp-wasm\.js$)/,
      instead: "throw new Error('this part of undici is not in the bundle');",
    },
  ],
};

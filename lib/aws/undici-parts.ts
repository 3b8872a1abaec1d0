import type { Plugin } from 'esbuild';

/**
 * Of undici, 552 KB when minified, a bundle gets the parts that `lib/remote/http.ts` uses: half of it is fetch, WebSocket,
 * caches and mocks, and a CommonJS package cannot be shaken. It names files inside the package, whose version is pinned;
 * the tests of local mode run such bundles.
 */
export function undiciParts(): Plugin {
  return {
    name: 'undici-parts',
    setup(builder) {
      builder.onResolve({ filter: /^undici$/ }, ({ resolveDir }) => ({
        path: 'undici-parts',
        namespace: 'undici-parts',
        pluginData: resolveDir,
      }));
      builder.onLoad({ filter: /./, namespace: 'undici-parts' }, ({ pluginData }) => ({
        contents: parts,
        resolveDir: pluginData as string,
      }));
      builder.onLoad({ filter: neverReached }, () => ({
        contents: "throw new Error('this part of undici is not in the bundle');",
      }));
    },
  };
}

const parts = `
  const api = require('undici/lib/api');
  Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, api);
  module.exports = {
    Agent: require('undici/lib/dispatcher/agent'),
    buildConnector: require('undici/lib/core/connect'),
    request: (url, options) =>
      api.request.call(options.dispatcher, { ...options, origin: url.origin, path: url.pathname + url.search }),
  };
`;

/** Loaded by undici where a body is a form or a stream, or where the processor knows no SIMD, which Lambda's do. */
const neverReached = /[\\/]undici[\\/]lib[\\/](web[\\/]|llhttp[\\/]llhttp-wasm\.js$)/;

// Trims: what is left out of a bundle that esbuild would put into it, and why. Each trim works on files inside of a package whose
// version is pinned; a test checks that they are there and what each one saves, so that one which no longer pays can go.

export type Trim = PackageParts | SeparateCopy | Replacement;

interface Saving {
  /** Also the namespace of its modules, which is part of the names of chunks. */
  readonly name: string;
  /** Bytes of the `turn` function less than without it: loaded before the first event, and in all. */
  readonly saves: { readonly atOnceBytes: number; readonly allBytes: number };
  /** Files of installed packages by whose place or imports it works. */
  readonly reliesOn: readonly string[];
}

/** Our own modules get parts of a CommonJS package, which esbuild cannot shake; an app that imports it gets the whole. */
export interface PackageParts extends Saving {
  readonly kind: 'parts';
  readonly packageName: string;
  /** Stands for the package in our own modules: code that requires files of it. */
  readonly entry: string;
  /** Files of the package, and of what it depends on, that they never use, and the code that stands for each. */
  readonly leftOut: readonly { readonly files: RegExp; readonly instead: string }[];
}

/** Keeps what some modules import late apart from the bundle, with copies of its own of what both use. */
export interface SeparateCopy extends Saving {
  readonly kind: 'copy';
  readonly importers: RegExp;
  readonly imports: RegExp;
  readonly copied: RegExp;
}

/** Gives one import of a package other code. */
export interface Replacement extends Saving {
  readonly kind: 'replacement';
  readonly importers: RegExp;
  readonly imports: RegExp;
  readonly path: string;
  readonly instead: string;
}

export const trims: readonly Trim[] = [
  {
    // Fetch, WebSocket, caches and mocks are more than half of undici; `lib/remote/http/http.ts` uses none of them. The parts
    // left out are loaded where a body is a form or a stream, or where the processor knows no SIMD, which Lambda's do.
    kind: 'parts',
    name: 'undici-parts',
    packageName: 'undici',
    saves: { atOnceBytes: 0, allBytes: 361_000 },
    reliesOn: [
      'undici/lib/api/index.js',
      'undici/lib/dispatcher/dispatcher.js',
      'undici/lib/dispatcher/agent.js',
      'undici/lib/core/connect.js',
      'undici/lib/web/fetch/body.js',
      'undici/lib/llhttp/llhttp-wasm.js',
    ],
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
    leftOut: [
      {
        files: /[\\/]undici[\\/]lib[\\/](web[\\/]|llhttp[\\/]llhttp-wasm\.js$)/,
        instead: "throw new Error('this part of undici is not in the bundle');",
      },
    ],
  },
  {
    // `lib/process/log.ts` uses what writes lines: no transport, which would be a thread, no second stream and no redaction of
    // pino's, and it hands pino nothing that JSON.stringify refuses.
    kind: 'parts',
    name: 'pino-parts',
    packageName: 'pino',
    saves: { atOnceBytes: 31_000, allBytes: 31_000 },
    reliesOn: [
      'pino/pino.js',
      'pino/lib/transport.js',
      'pino/lib/multistream.js',
      'pino/lib/redaction.js',
      'safe-stable-stringify/index.js',
    ],
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
  },
  {
    // Sources of credentials that Lambda does not use: profiles, sign-on, roles that are assumed. What they share with the
    // clients, XML among it, would else be loaded with each function: of a module that only lists others, esbuild keeps
    // together all that any part of the bundle uses. A second core of the SDK is the price, never loaded on Lambda.
    kind: 'copy',
    name: 'other-credentials',
    saves: { atOnceBytes: 33_400, allBytes: -162_000 },
    reliesOn: [
      '@aws-sdk/credential-provider-node/dist-es/defaultProvider.js',
      '@aws-sdk/credential-provider-node/dist-es/remoteProvider.js',
    ],
    importers: /[\\/]node_modules[\\/]@aws-sdk[\\/]credential-provider-node[\\/]/,
    imports: /^@(aws-sdk|smithy)\/credential-provider-/,
    copied: /[\\/]node_modules[\\/]@(aws-sdk|smithy)[\\/]/,
  },
  {
    // The client of DynamoDB can ask which address to use, which is off unless `AWS_ENABLE_ENDPOINT_DISCOVERY` is set, and
    // keeps the answers in a cache that forgets the least recently used. A function has one answer for each set of
    // credentials, so a Map will do. Without this trim `api` and `turn` are beyond the 450 KB that they may load at once.
    kind: 'replacement',
    name: 'plain-endpoint-cache',
    saves: { atOnceBytes: 7_100, allBytes: 7_100 },
    reliesOn: ['@aws-sdk/endpoint-cache/dist-es/EndpointCache.js', 'mnemonist/lru-cache.js'],
    importers: /[\\/]node_modules[\\/]@aws-sdk[\\/]endpoint-cache[\\/]/,
    imports: /^mnemonist\/lru-cache(\.js)?$/,
    path: 'lru-cache',
    instead: `export default class extends Map {
          constructor() { super(); }
          peek(key) { return this.get(key); }
        }`,
  },
];

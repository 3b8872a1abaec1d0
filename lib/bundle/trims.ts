// Trims: what esbuild would put into a bundle and is left out, and why. Each trim relies on files inside a package
// whose version is pinned; a test checks that they exist and what each trim saves, so that one that no longer pays can
// be removed.

export type Trim = PackageParts | SeparateCopy | Replacement;

interface Saving {
  /** Name of the trim; also the namespace of its modules, which is part of the names of chunks. */
  readonly name: string;
  /** Bytes saved in the `turn` function: loaded before the first event, and in all. */
  readonly saves: { readonly atOnceBytes: number; readonly allBytes: number };
  /** Files of installed packages on whose location or imports the trim relies. */
  readonly reliesOn: readonly string[];
}

/**
 * Gives our own modules parts of a CommonJS package, which esbuild cannot tree-shake; an app that imports it gets the
 * whole.
 */
export interface PackageParts extends Saving {
  readonly kind: 'parts';
  readonly packageName: string;
  /** Code that replaces the package in our own modules and requires files of it. */
  readonly entry: string;
  /** Files, of the package and its dependencies, that our modules never use, and the code that replaces each. */
  readonly leftOut: readonly { readonly files: RegExp; readonly instead: string }[];
}

/** Splits what some modules import late from the rest of the bundle, with its own copies of what both use. */
export interface SeparateCopy extends Saving {
  readonly kind: 'copy';
  readonly importers: RegExp;
  readonly imports: RegExp;
  readonly copied: RegExp;
}

/** Replaces one import of a package by other code, whose own imports are found from the importer. */
export interface Replacement extends Saving {
  readonly kind: 'replacement';
  readonly importers: RegExp;
  readonly imports: RegExp;
  readonly path: string;
  readonly instead: string;
}

/** Error classes to which the schemas of the DynamoDB client refer. Bundling fails if one is missing. */
const dynamoDbErrors =
  'BackupInUseException BackupNotFoundException ConditionalCheckFailedException ' +
  'ContinuousBackupsUnavailableException DuplicateItemException ExportConflictException ' +
  'ExportNotFoundException GlobalTableAlreadyExistsException GlobalTableNotFoundException ' +
  'IdempotentParameterMismatchException ImportConflictException ImportNotFoundException ' +
  'IndexNotFoundException InternalServerError InvalidEndpointException InvalidExportTimeException ' +
  'InvalidRestoreTimeException ItemCollectionSizeLimitExceededException LimitExceededException ' +
  'PointInTimeRecoveryUnavailableException PolicyNotFoundException ' +
  'ProvisionedThroughputExceededException ReplicaAlreadyExistsException ReplicaNotFoundException ' +
  'ReplicatedWriteConflictException RequestLimitExceeded ResourceInUseException ' +
  'ResourceNotFoundException TableAlreadyExistsException TableInUseException TableNotFoundException ' +
  'ThrottlingException TransactionCanceledException TransactionConflictException ' +
  'TransactionInProgressException';

export const trims: readonly Trim[] = [
  {
    // Leaves out fetch, WebSocket, caches and mocks, more than half of undici, which `lib/remote/http/http.ts` does not
    // use. These parts would be loaded for a body that is a form or a stream, or on a processor without SIMD;
    // Lambda's have it.
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
    // Keeps only what makes lines: `lib/process/log.ts` gives pino a destination, so no stream of pino's is opened; it
    // uses no transport (a thread), no second stream, no redaction and no serializers of pino's, and passes pino
    // nothing that JSON.stringify refuses.
    kind: 'parts',
    name: 'pino-parts',
    packageName: 'pino',
    saves: { atOnceBytes: 47_000, allBytes: 47_000 },
    reliesOn: [
      'pino/pino.js',
      'pino/lib/transport.js',
      'pino/lib/multistream.js',
      'pino/lib/redaction.js',
      'safe-stable-stringify/index.js',
      'sonic-boom/index.js',
      'on-exit-leak-free/index.js',
      'pino-std-serializers/index.js',
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
      {
        files: /[\\/]node_modules[\\/](sonic-boom|on-exit-leak-free)[\\/]/,
        instead:
          "module.exports = class { constructor() { throw new Error('pino opens no streams in the bundle'); } };",
      },
      {
        files: /[\\/]node_modules[\\/]pino-std-serializers[\\/]/,
        instead: `const same = (value) => value;
          module.exports = { err: same, mapHttpRequest: same, mapHttpResponse: same };`,
      },
    ],
  },
  {
    // Moves credential sources that Lambda does not use (profiles, sign-on, assumed roles) out of the way. What they
    // share with the clients, such as XML, would otherwise be loaded with each function: of a module that only
    // re-exports others, esbuild keeps together all that any part of the bundle uses. The price is a second core of the
    // SDK, never loaded on Lambda.
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
    // Replaces an LRU cache by a Map. The DynamoDB client can ask which address to use, which is off unless
    // `AWS_ENABLE_ENDPOINT_DISCOVERY` is set, and caches the answers; a function has one answer for each set of
    // credentials.
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
  {
    // Makes the error classes of the DynamoDB client in one function: each is written out by its generator, though they
    // differ only by name. The fields of an error come with the answer.
    kind: 'replacement',
    name: 'dynamodb-errors',
    saves: { atOnceBytes: 8_850, allBytes: 8_850 },
    reliesOn: [
      '@aws-sdk/client-dynamodb/dist-es/models/errors.js',
      '@aws-sdk/client-dynamodb/dist-es/models/DynamoDBServiceException.js',
      '@aws-sdk/client-dynamodb/dist-es/schemas/schemas_0.js',
    ],
    importers: /[\\/]client-dynamodb[\\/]dist-es[\\/]schemas[\\/]schemas_0\.js$/,
    imports: /^\.\.\/models\/errors$/,
    path: 'errors',
    instead: `import { DynamoDBServiceException as Base } from '../models/DynamoDBServiceException';
      const named = (name) => {
        const $fault = name === 'InternalServerError' ? 'server' : 'client';
        return class Named extends Base {
          name = name;
          $fault = $fault;
          constructor(options) {
            super({ name, $fault, ...options });
            Object.setPrototypeOf(this, Named.prototype);
          }
        };
      };
      ${dynamoDbErrors
        .split(' ')
        .map((name) => `export const ${name} = named('${name}');`)
        .join('\n')}`,
  },
  {
    // Keeps only the version of each client's package.json, which the client names in its user agent.
    kind: 'replacement',
    name: 'client-versions',
    saves: { atOnceBytes: 2_350, allBytes: 12_760 },
    reliesOn: ['@aws-sdk/client-dynamodb/dist-es/runtimeConfig.js', '@aws-sdk/client-dynamodb/package.json'],
    importers: /[\\/]client-[a-z-]+[\\/]dist-es[\\/]runtimeConfig\.js$/,
    imports: /^\.\.\/package\.json$/,
    path: 'version',
    instead: "import { version } from '../package.json'; export default { version };",
  },
  {
    // Takes the trace id, by which Lambda recognizes loops, from the environment alone: the store is for processes with
    // several invocations at once.
    kind: 'replacement',
    name: 'no-invoke-store',
    saves: { atOnceBytes: 2_570, allBytes: 781 },
    reliesOn: [
      '@aws/lambda-invoke-store/dist-es/invoke-store.js',
      '@aws-sdk/core/dist-es/submodules/client/middleware-recursion-detection/recursionDetectionMiddleware.js',
    ],
    importers: /[\\/]recursionDetectionMiddleware\.js$/,
    imports: /^@aws\/lambda-invoke-store$/,
    path: 'invoke-store',
    instead: 'export const InvokeStore = { getInstanceAsync: async () => undefined };',
  },
  {
    // Leaves out SHA-256 and MD5 in JavaScript, which the SDK falls back to on a Node without its own.
    kind: 'replacement',
    name: 'own-digests',
    saves: { atOnceBytes: 4_700, allBytes: 4_700 },
    reliesOn: [
      '@smithy/core/dist-es/submodules/checksum/sha256/Sha256Node.js',
      '@smithy/core/dist-es/submodules/checksum/sha256/Sha256Js.js',
      '@smithy/core/dist-es/submodules/checksum/md5/Md5Node.js',
      '@smithy/core/dist-es/submodules/checksum/md5/Md5Js.js',
    ],
    importers: /[\\/]checksum[\\/](sha256[\\/]Sha256|md5[\\/]Md5)Node\.js$/,
    imports: /^\.\/(Sha256|Md5)Js$/,
    path: 'digests',
    instead: `class Left { constructor() { throw new Error('this part of the SDK is not in the bundle'); } }
      export { Left as Md5Js, Left as Sha256Js };`,
  },
  {
    // Leaves out the encoding of the headers of event streams, which no client of ours opens.
    kind: 'replacement',
    name: 'no-event-streams',
    saves: { atOnceBytes: 2_300, allBytes: 2_300 },
    reliesOn: ['@smithy/signature-v4/dist-es/SignatureV4.js', '@smithy/signature-v4/dist-es/HeaderFormatter.js'],
    importers: /[\\/]signature-v4[\\/]dist-es[\\/]SignatureV4\.js$/,
    imports: /^\.\/HeaderFormatter$/,
    path: 'header-formatter',
    instead: `export class HeaderFormatter {
      format() { throw new Error('this part of the SDK is not in the bundle'); }
    }`,
  },
  {
    // Lets the clients send as fast as they like in the retry mode `adaptive` of `AWS_RETRY_MODE` too, which is then as
    // `standard`: it paces the requests of one process, of which a function has few.
    kind: 'replacement',
    name: 'no-adaptive-pace',
    saves: { atOnceBytes: 2_550, allBytes: 2_550 },
    reliesOn: [
      '@smithy/core/dist-es/submodules/retry/util-retry/AdaptiveRetryStrategy.js',
      '@smithy/core/dist-es/submodules/retry/util-retry/DefaultRateLimiter.js',
    ],
    importers: /[\\/]util-retry[\\/]AdaptiveRetryStrategy\.js$/,
    imports: /^\.\/DefaultRateLimiter$/,
    path: 'rate-limiter',
    instead: 'export class DefaultRateLimiter { async getSendToken() {} updateClientSendingRate() {} }',
  },
];

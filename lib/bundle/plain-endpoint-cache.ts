import type { Plugin } from 'esbuild';

const namespace = 'plain-endpoint-cache';
const endpointCache = /[\\/]node_modules[\\/]@aws-sdk[\\/]endpoint-cache[\\/]/;

/**
 * The client of DynamoDB can ask which address to use, which is off unless `AWS_ENABLE_ENDPOINT_DISCOVERY` is set, and
 * keeps the answers in a cache of 7 KB that forgets the least recently used. In a bundle a Map stands for that cache: a
 * function has one answer for each set of credentials.
 */
export function plainEndpointCache(): Plugin {
  return {
    name: namespace,
    setup(builder) {
      builder.onResolve({ filter: /^mnemonist\/lru-cache(\.js)?$/ }, ({ importer }) =>
        endpointCache.test(importer) ? { path: 'lru-cache', namespace } : undefined,
      );
      builder.onLoad({ filter: /./, namespace }, () => ({
        contents: `export default class extends Map {
          constructor() { super(); }
          peek(key) { return this.get(key); }
        }`,
      }));
    },
  };
}

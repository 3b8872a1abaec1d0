import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { trimPlugin } from '../../../lib/bundle/trim-plugins.js';
import { trims } from '../../../lib/bundle/trims.js';

interface EndpointCache {
  set(key: string, endpoints: readonly { readonly Address: string; readonly CachePeriodInMinutes: number }[]): void;
  getEndpoint(key: string): string | undefined;
  has(key: string): boolean;
  delete(key: string): void;
}

it('keeps the answers of the SDK as long as they hold, without the library that it brings for that', async () => {
  const trim = trims.find(({ name }) => name === 'plain-endpoint-cache')!;
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: "export { EndpointCache } from '@aws-sdk/endpoint-cache';",
      resolveDir: fileURLToPath(new URL('../../../', import.meta.url)),
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    plugins: [trimPlugin(trim, '')],
  });
  expect(Object.keys(metafile.inputs).filter((path) => path.includes('mnemonist'))).toEqual([]);

  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  const { EndpointCache: Cache } = (await import(`data:text/javascript;base64,${code}`)) as {
    readonly EndpointCache: new (capacity: number) => EndpointCache;
  };
  const cache = new Cache(1_000);
  expect(cache.getEndpoint('a')).toBeUndefined();
  cache.set('a', [{ Address: 'a.example.com', CachePeriodInMinutes: 5 }]);
  cache.set('b', [{ Address: 'b.example.com', CachePeriodInMinutes: 0 }]);
  expect([cache.has('a'), cache.getEndpoint('a'), cache.getEndpoint('b')]).toEqual([true, 'a.example.com', undefined]);
  cache.delete('a');
  expect([cache.has('a'), cache.getEndpoint('a')]).toEqual([false, undefined]);
});

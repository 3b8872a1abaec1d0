import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { expect, it } from 'vitest';
import { bundle } from '../../../lib/bundle/bundle.js';

const root = new URL('../../../', import.meta.url);

/** Returns the modules of a bundle, those loaded before the first event apart. */
async function modulesOf(
  name: string,
): Promise<{ readonly atOnce: readonly string[]; readonly all: readonly string[] }> {
  const outDir = await mkdtemp(join(tmpdir(), 'outwait-tracing-'));
  let made: Metafile | undefined;
  try {
    await bundle({
      configFile: fileURLToPath(new URL('bench/small-app/outwait.config.ts', root)),
      outDir,
      entries: { [name]: fileURLToPath(new URL(`functions/${name}.ts`, root)) },
      onMetafile: (metafile) => (made = metafile),
    });
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  const outputs = made?.outputs ?? {};
  const open = Object.keys(outputs).filter((path) => path.endsWith(`/${name}.mjs`));
  const seen = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? []) if (kind !== 'dynamic-import') open.push(next);
  }
  const inputsOf = (paths: Iterable<string>) => [...paths].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  return { atOnce: inputsOf(seen), all: inputsOf(Object.keys(outputs)) };
}

it.each(['api', 'turn', 'poll', 'step', 'schedule'])(
  'the function %s loads nothing that makes spans until there are some, and has nothing of OpenTelemetry',
  async (name) => {
    const { atOnce, all } = await modulesOf(name);
    expect(all).toContain('lib/tracing/span-sender.ts');
    expect(atOnce.filter((path) => path.startsWith('lib/tracing/'))).toEqual(['lib/tracing/buffered-spans.ts']);
    expect(all.filter((path) => path.includes('opentelemetry'))).toEqual([]);
  },
);

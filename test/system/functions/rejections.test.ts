import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle } from '../../../lib/bundle/bundle.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Ends the process on an unhandled rejection, as the runtime of Lambda does. */
const asLambda = `process.on('unhandledRejection', () => process.exit(129));`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-rejections-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function runNode(args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

describe('a promise that fails before it is awaited', () => {
  it.each(['turn', 'poll'])('is logged by the %s function and does not end its process', async (name) => {
    const configFile = join(folder, 'outwait.config.ts');
    await writeFile(configFile, `import { defineApp } from 'outwait'; export default defineApp({ workflows: [] });`);
    const bundled = await bundle({
      configFile,
      outDir: join(folder, name),
      entries: { [name]: at(`../../../functions/${name}.ts`) },
    });
    const script = join(folder, `${name}.mjs`);
    await writeFile(
      script,
      `${asLambda}
       await import(${JSON.stringify(pathToFileURL(bundled[name]!).href)});
       void Promise.reject(new Error('left alone'));
       await new Promise((resolve) => setImmediate(resolve));`,
    );
    const ended = await runNode([script]);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('left alone') as unknown });
    expect(JSON.parse(ended.stdout)).toMatchObject({ level: 'error', event: 'unhandled rejection' });
  });

  it('leaves its workflow, which awaits it later, to finish', async () => {
    const ended = await runNode(['--import', 'tsx', at('late-await.ts')]);
    expect(ended.stdout.trim().split('\n')).toContain('"caught STEP_FAILED"');
    expect(ended.code).toBe(0);
  });
});

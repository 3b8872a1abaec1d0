import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outwait-cdk-app-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the program of cdk.json, as the CDK command line does. */
function synthesize(context: object): Promise<{ code: unknown; err: string; outdir: string }> {
  const outdir = mkdtempSync(join(folder, 'out-'));
  const env = { ...process.env, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: JSON.stringify(context) };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', 'cdk/app.ts'], { cwd: root, env }, (error, _, stderr) => {
      const lines = stderr.split('\n').filter((line) => !/^(Bundling asset .*\.\.\.)?$/.test(line));
      resolve({ code: error?.code ?? 0, err: lines.join('\n'), outdir });
    });
  });
}

function configured(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

describe('a synthesis that cannot be', { timeout: 60_000 }, () => {
  test.each<[string, () => object, RegExp]>([
    [
      'of a configuration that is not there',
      () => ({ app: 'wrong/path' }),
      /^outwait: CONFIG_INVALID: there is no configuration at wrong\/path$/,
    ],
    [
      'of a configuration with a mistake of syntax',
      () => ({ app: configured('syntax.config.ts', 'export default {\n  a: 1,,\n};\n') }),
      /^outwait: CONFIG_INVALID: .*syntax\.config\.ts cannot be bundled: .*syntax\.config\.ts:2:8: Expected identifier but found ","$/,
    ],
    [
      'with settings that are not known or not valid',
      () => ({
        app: 'examples/outwait.config.ts',
        outwait: { removal: 'destroy', throttle: { perSecond: 0, burst: 1 } },
      }),
      /^outwait: CONFIG_INVALID: the context is not valid: outwait\.throttle\.perSecond: .*; outwait: Unrecognized key: "removal"$/,
    ],
    [
      'with a property that the construct refuses',
      () => ({ app: 'examples/outwait.config.ts', outwait: { environment: { OUTWAIT_TABLE: 'mine' } } }),
      /^outwait: CONFIG_INVALID: environment must not set what the construct sets: OUTWAIT_TABLE$/,
    ],
    [
      'with a property that CDK refuses',
      () => ({
        app: 'examples/outwait.config.ts',
        outwait: { environment: { AWS_REGION: 'eu-west-1' } },
        'aws:cdk:bundling-stacks': [],
      }),
      /^outwait: CONFIG_INVALID: AWS_REGION environment variable is reserved by the lambda runtime .*$/,
    ],
    [
      'of an app that could not start',
      () => ({
        app: configured(
          'throws.config.ts',
          "import { defineApp } from 'outwait';\nif (process.env['REPORTS_TIER'] !== 'gold') throw new Error('two\\n  lines');\nexport default defineApp({ workflows: [] });\n",
        ),
        outwait: { environment: { OTHER: '1' } },
      }),
      /^outwait: CONFIG_INVALID: .*throws\.config\.ts cannot be loaded: two lines \(of the variables it reads, "environment" does not set REPORTS_TIER\)$/,
    ],
  ])('%s ends with one line and the exit code 1, and leaves no template', async (_, context, line) => {
    const { code, err, outdir } = await synthesize(context());
    expect([code, err]).toEqual([1, expect.stringMatching(line)]);
    expect(readdirSync(outdir).filter((name) => name.endsWith('.template.json'))).toEqual([]);
  });
});

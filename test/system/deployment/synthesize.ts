import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Writes the cloud assembly of the stack with these settings into `folder`, as `cdk synth` does, by the command in
 * cdk.json.
 */
export async function synthesize(folder: string, settings: object): Promise<void> {
  const { app, context } = JSON.parse(await readFile(`${root}cdk.json`, 'utf8')) as {
    readonly app: string;
    readonly context: object;
  };
  const [program = '', ...args] = app.split(' ');
  await promisify(execFile)(program, args, {
    cwd: root,
    env: {
      ...process.env,
      CDK_OUTDIR: folder,
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, outwait: settings }),
      // Skipped, since it takes seconds and test/package/cdk checks templates against the schemas of CloudFormation.
      CDK_VALIDATION: 'false',
    },
  });
}

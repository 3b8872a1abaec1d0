// The example of docs/deploy.md, from here on.
import { type App, Stack } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Outwait } from 'outwait/cdk';

export function addReports(app: App): Stack {
  const stack = new Stack(app, 'Reports');
  const bucket = new Bucket(stack, 'Bucket');
  const outwait = new Outwait(stack, 'Outwait', {
    app: './examples/outwait.config.ts',
    secrets: ['prod/reports'],
    functions: { turn: { memoryMb: 2_048 } },
    environment: { REPORTS_BUCKET: bucket.bucketName },
  });
  // Steps run in the turn function; steps with `long` run in the step function.
  bucket.grantPut(outwait.functions.turn);
  bucket.grantPut(outwait.functions.step);
  return stack;
}

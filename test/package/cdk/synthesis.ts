import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { Outwait } from '../../../cdk/outwait.js';
import { parseSettings } from '../../../cdk/settings.js';
import { OutwaitStack } from '../../../cdk/stack.js';

// nag.test.ts checks templates against the schemas of CloudFormation once, since each check takes seconds.
process.env['CDK_VALIDATION'] = 'false';

/** Creates an app without bundles. They have their own test, and a synthesis without them is seconds faster. */
export const anApp = (): App => new App({ context: { 'aws:cdk:bundling-stacks': [] } });

export interface Synthesis {
  readonly app: App;
  readonly outwait: Outwait;
  readonly template: Template;
}

/** Synthesizes the stack with these settings in addition to the app. */
export function synthesize(settings: object = {}): Synthesis {
  const app = anApp();
  const stack = new OutwaitStack(app, parseSettings(settings, 'examples/outwait.config.ts'));
  return { app, outwait: stack.outwait, template: Template.fromStack(stack) };
}

export interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

/** Returns what the role of the function whose logical id begins like this may do. */
export function statementsOf(template: Template, functionId: string): readonly Statement[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy')) as [
    string,
    { Properties: { PolicyDocument: { Statement: Statement[] } } },
  ][];
  return policies
    .filter(([id]) => id.startsWith(`${functionId}Role`))
    .flatMap(([, policy]) => policy.Properties.PolicyDocument.Statement);
}

/** Returns the resource of a statement by its logical id, without the hash, and the rest of its text. */
export function resourceOf({ Resource }: Statement): string {
  return textOf(Resource).replaceAll(/([A-Za-z]+?)[0-9A-F]{8}\b/g, '$1');
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const {
    Ref: ref,
    ['Fn::GetAtt']: attribute,
    ['Fn::Join']: joined,
  } = value as {
    Ref?: string;
    'Fn::GetAtt'?: [string, string];
    'Fn::Join'?: [string, unknown[]];
  };
  if (ref !== undefined) return ref;
  if (attribute !== undefined) return attribute[0];
  if (joined !== undefined) return joined[1].map(textOf).join(joined[0]);
  throw new Error(`no name for ${JSON.stringify(value)}`);
}

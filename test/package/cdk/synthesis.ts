import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { Outwait } from '../../../cdk/outwait.js';
import { parseSettings } from '../../../cdk/settings.js';
import { OutwaitStack } from '../../../cdk/stack.js';

// Templates are held against the schemas of CloudFormation in nag.test.ts, once; each time takes seconds.
process.env['CDK_VALIDATION'] = 'false';

/** Bundles have a test of their own; a synthesis without them takes seconds less. */
export const anApp = (): App => new App({ context: { 'aws:cdk:bundling-stacks': [] } });

export interface Synthesis {
  readonly app: App;
  readonly outwait: Outwait;
  readonly template: Template;
}

/** The stack with these settings beside the app. */
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

/** What the role of a function may do, whose logical id begins so. */
export function statementsOf(template: Template, functionId: string): readonly Statement[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy')) as [
    string,
    { Properties: { PolicyDocument: { Statement: Statement[] } } },
  ][];
  return policies
    .filter(([id]) => id.startsWith(`${functionId}Role`))
    .flatMap(([, policy]) => policy.Properties.PolicyDocument.Statement);
}

/** Names the resource of a statement by its logical id, without the hash, and what follows it. */
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

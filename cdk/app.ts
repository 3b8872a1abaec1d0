import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { parseSettings } from './settings.js';
import { OutwaitStack } from './stack.js';

// What `cdk.json` says; `cdk deploy -c app=path/to/outwait.config.ts` for another app.
const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
new OutwaitStack(app, parseSettings(app.node.tryGetContext('outwait'), app.node.tryGetContext('app')));

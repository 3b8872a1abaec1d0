import { App } from 'aws-cdk-lib';
import { OutwaitStack } from './stack.js';

// `cdk deploy -c config=path/to/outwait.config.ts`
const app = new App();
const config: unknown = app.node.tryGetContext('config');
new OutwaitStack(app, 'Outwait', { config: typeof config === 'string' ? config : 'examples/outwait.config.ts' });

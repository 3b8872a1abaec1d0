import { App, Errors, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { isEngineError } from '../lib/base/errors.js';
import { parseSettings } from './settings.js';
import { OutwaitStack } from './stack.js';

// The app that `cdk.json` names; use `cdk deploy -c app=path/to/outwait.config.ts` for another app.
const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
try {
  new OutwaitStack(app, parseSettings(app.node.tryGetContext('outwait'), app.node.tryGetContext('app')));
} catch (error) {
  // Reports mistakes that CDK itself finds in the settings in the same way.
  if (!isEngineError(error) && !Errors.isValidationError(error)) throw error;
  const code = isEngineError(error) ? error.code : 'CONFIG_INVALID';
  process.stderr.write(`outwait: ${code}: ${error.message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  // Exits at once: otherwise CDK would synthesise half of it when this process has nothing left to do.
  process.exit(1);
}

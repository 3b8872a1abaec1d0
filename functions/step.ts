import { createLog } from '../lib/aws/log.js';
import { logRejections } from '../lib/aws/rejections.js';
import { stepHandler } from '../lib/aws/step-handler.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = stepHandler(getDeps);

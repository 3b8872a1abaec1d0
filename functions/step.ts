import { createLog } from '../lib/process/log.js';
import { logRejections } from '../lib/process/rejections.js';
import { stepHandler } from '../lib/aws/step-handler.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = stepHandler(getDeps);

import { createLog } from '../lib/process/log.js';
import { logRejections } from '../lib/process/rejections.js';
import { turnHandler } from '../lib/aws/turn-handler.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = turnHandler(getDeps);

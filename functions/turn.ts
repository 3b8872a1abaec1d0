import { createLog } from '../lib/aws/log.js';
import { logRejections } from '../lib/aws/rejections.js';
import { turnHandler } from '../lib/aws/turn-handler.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = turnHandler(getDeps);

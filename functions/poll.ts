import { createLog } from '../lib/aws/log.js';
import { pollHandler } from '../lib/aws/poll-handler.js';
import { logRejections } from '../lib/aws/rejections.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = pollHandler(getDeps);

import { createLog } from '../lib/process/log.js';
import { pollHandler } from '../lib/aws/poll-handler.js';
import { logRejections } from '../lib/process/rejections.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = pollHandler(getDeps);

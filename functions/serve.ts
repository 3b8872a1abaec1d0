import { streamedHandler } from '../lib/aws/lambda-stream.js';
import { managementAccess } from '../lib/aws/management-access.js';
import { serveHandler } from '../lib/aws/serve-handler.js';
import { createLog } from '../lib/process/log.js';
import { logRejections } from '../lib/process/rejections.js';
import { systemClock } from '../lib/process/system.js';
import { readManagementAccess, readServing } from '../lib/topology/env.js';
import { getDeps } from './deps.js';

logRejections(createLog({ level: 'error' }));

export const handler = streamedHandler(
  serveHandler(getDeps, {
    ...managementAccess(readManagementAccess(process.env), systemClock),
    ...readServing(process.env),
  }),
);

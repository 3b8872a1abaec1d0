import { streamedHandler } from '../lib/aws/lambda-stream.js';
import { managementAccess } from '../lib/aws/management-access.js';
import { serveHandler } from '../lib/aws/serve-handler.js';
import { systemClock } from '../lib/process/system.js';
import { readManagementAccess, readServing } from '../lib/topology/env.js';
import { getDeps } from './deps.js';

export const handler = streamedHandler(
  serveHandler(getDeps, {
    ...managementAccess(readManagementAccess(process.env), systemClock),
    ...readServing(process.env),
  }),
);

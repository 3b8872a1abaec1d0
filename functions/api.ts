import { apiHandler } from '../lib/aws/api-handler.js';
import { readManagementAccess } from '../lib/topology/env.js';
import { managementAccess } from '../lib/aws/management-access.js';
import { systemClock } from '../lib/process/system.js';
import { getDeps } from './deps.js';

export const handler = apiHandler(getDeps, managementAccess(readManagementAccess(process.env), systemClock));

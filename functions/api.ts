import { apiHandler } from '../lib/aws/api-handler.js';
import { readManagementToken } from '../lib/aws/env.js';
import { getDeps } from './deps.js';

export const handler = apiHandler(getDeps, { managementToken: () => readManagementToken(process.env) });

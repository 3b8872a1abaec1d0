import { scheduleHandler } from '../lib/aws/schedule-handler.js';
import { getDeps } from './deps.js';

export const handler = scheduleHandler(getDeps);

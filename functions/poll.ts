import { pollHandler } from '../lib/aws/poll-handler.js';
import { getDeps } from './deps.js';

export const handler = pollHandler(getDeps);

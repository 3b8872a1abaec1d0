import { turnHandler } from '../lib/aws/turn-handler.js';
import { getDeps } from './deps.js';

export const handler = turnHandler(getDeps);

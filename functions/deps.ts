import app from 'outwait:app';
import { createDeps } from '../lib/aws/deps.js';
import { readEnv } from '../lib/aws/env.js';
import { once } from '../lib/aws/get-deps.js';

/** Made at the first event; a warm instance keeps it. */
export const getDeps = once(() => createDeps(readEnv(process.env), app));

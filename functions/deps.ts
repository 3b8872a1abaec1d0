import app from 'outwait:app';
import { createDeps } from '../lib/aws/create-deps.js';
import { readEnv } from '../lib/topology/env.js';
import { once, withTokens } from '../lib/aws/get-deps.js';
import { tokenKeyReader } from '../lib/aws/token-key-reader.js';

/** Created at the first event; a warm instance keeps it, with token keys that are checked again. */
export const getDeps = withTokens(
  once(() => {
    const env = readEnv(process.env);
    const deps = createDeps(env, app);
    return { deps, readTokens: tokenKeyReader(env.tokenKeys, deps) };
  }),
);

import { join } from 'node:path';
import { secretsOfApp } from '../lib/aws/app-secrets.js';
import { envNames } from '../lib/topology/env.js';
import { bundleApp, importApp } from '../lib/aws/load-app.js';
import { EngineError, isEngineError } from '../lib/base/errors.js';
import type { App } from '../lib/workflow/app.js';
import type { BundleOutcome, BundleRequest, FunctionVariables } from './bundle-request.js';
import { unreadableSecrets } from './unreadable-secrets.js';

/** Time in which Lambda expects a function to load its code on a cold start. */
const functionStartMaxMs = 10_000;

/** Variables that Lambda sets, with values that differ by environment. */
const setByLambda = /^(AWS_|LAMBDA_|_|(PATH|LANG|TZ|NODE_PATH|LD_LIBRARY_PATH)$)/;
/** Variables that Node itself reads whenever it loads a module. */
const askedByNode = /^(WATCH_|NODE_V8_)/;

/**
 * Loads the app as the functions will, with exactly the environment variables that they will have, so that what would
 * break each of their starts breaks the synthesis. The outcome is `unsure` if the app cannot be loaded and has read a
 * variable whose value is not known yet, or if its servers name secrets that the functions will not have. Work that the
 * app starts on loading goes on.
 * @throws EngineError `CONFIG_INVALID` if it cannot be bundled
 */
export async function loadAsDeployed(
  { configFile, outDir }: BundleRequest,
  variables: FunctionVariables,
): Promise<BundleOutcome> {
  const file = await bundleApp(configFile, join(outDir, 'app'));
  const { env } = process;
  const asked = watchEnvironment(variables.environment);
  try {
    const app = await Promise.race([importApp(configFile, file), timeout(configFile)]);
    const problem = problemWithServing(app, variables);
    if (problem !== undefined) return { kind: 'refused', message: `${configFile} ${problem}` };
    const lacking = unreadableSecrets(secretsOfApp(app), variables);
    if (lacking.length === 0) return { kind: 'done' };
    return {
      kind: 'unsure',
      message: `${configFile} names secrets that the functions cannot read, unless they get them in another way: ${lacking.join('; ')}`,
    };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const later = new Set([...variables.unknown, ...Object.values(envNames)]);
    const unknown = [...asked].filter((name) => later.has(name) || setByLambda.test(name));
    if (unknown.length > 0)
      return {
        kind: 'unsure',
        message: `${error.message} (not refused: it reads ${unknown.join(', ')}, known only after deployment)`,
      };
    const missing = [...asked].filter((name) => !Object.hasOwn(variables.environment, name));
    const reads =
      missing.length === 0 ? '' : ` (of the variables it reads, "environment" does not set ${missing.join(', ')})`;
    return { kind: 'refused', message: error.message + reads };
  } finally {
    process.env = env;
  }
}

/** Returns what is wrong if the app and the deployment do not agree about served workflows. */
function problemWithServing({ serve }: App, { serves }: FunctionVariables): string | undefined {
  if (serve !== undefined && serves === undefined)
    return 'serves workflows, but it is not said who may call them: set serve.access to { "kind": "keys" } or { "kind": "iam" }, or serve to false';
  return serve === undefined && serves === true ? 'serves no workflows, but serve is set' : undefined;
}

/** Replaces `process.env`, and returns the names that are read from then on. */
function watchEnvironment(environment: Readonly<Record<string, string>>): ReadonlySet<string> {
  const asked = new Set<string>();
  const note = (name: string | symbol): void => {
    if (typeof name === 'string' && !askedByNode.test(name)) asked.add(name);
  };
  process.env = new Proxy<NodeJS.ProcessEnv>(
    { ...environment },
    {
      get: (variables, name) => {
        note(name);
        return Reflect.get(variables, name) as string | undefined;
      },
      has: (variables, name) => {
        note(name);
        return Reflect.has(variables, name);
      },
    },
  );
  return asked;
}

/** Rejects after the limit: a top-level await can last for ever. */
function timeout(configFile: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => {
      const limit = `${functionStartMaxMs / 1_000} s`;
      reject(new EngineError('CONFIG_INVALID', `${configFile} is not loaded after ${limit}; Lambda waits no longer`));
    }, functionStartMaxMs);
  });
}

import { join } from 'node:path';
import { secretsOfApp } from '../lib/aws/app-secrets.js';
import { envNames } from '../lib/topology/env.js';
import { bundleApp, importApp } from '../lib/aws/load-app.js';
import { EngineError, isEngineError } from '../lib/base/errors.js';
import type { BundleOutcome, BundleRequest, FunctionVariables } from './bundle-request.js';
import { unreadableSecrets } from './unreadable-secrets.js';

/** How long Lambda waits for a function to load its code, the first time. */
const functionStartMaxMs = 10_000;

/** Variables that Lambda sets, each to something else wherever it runs. */
const setByLambda = /^(AWS_|LAMBDA_|_|(PATH|LANG|TZ|NODE_PATH|LD_LIBRARY_PATH)$)/;
/** Variables that Node itself asks for whenever it loads a module. */
const askedByNode = /^(WATCH_|NODE_V8_)/;

/**
 * Loads the app as the functions will, with the environment variables that they will have and no others, so that what
 * would end each of their starts ends the synthesis. It is unsure of an app that cannot be loaded and has asked for a
 * variable whose value is not known yet, and of one whose servers name secrets that the functions will not have. What the
 * app begins at its start goes on.
 * @throws EngineError `CONFIG_INVALID` when it cannot be bundled
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
        message: `${error.message} (not refused: it asks for ${unknown.join(', ')}, known only once it is deployed)`,
      };
    const missing = [...asked].filter((name) => !Object.hasOwn(variables.environment, name));
    const reads =
      missing.length === 0 ? '' : ` (of what it asks for, "environment" does not set ${missing.join(', ')})`;
    return { kind: 'refused', message: error.message + reads };
  } finally {
    process.env = env;
  }
}

/** Lets `process.env` be these, and gives the names that are asked for from then on. */
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

/** A wait at the top level of a module can be for ever. */
function timeout(configFile: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => {
      const limit = `${functionStartMaxMs / 1_000} s`;
      reject(new EngineError('CONFIG_INVALID', `${configFile} is not loaded after ${limit}; Lambda waits no longer`));
    }, functionStartMaxMs);
  });
}

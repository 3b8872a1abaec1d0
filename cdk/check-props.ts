import { Token } from 'aws-cdk-lib';
import { checkedPublicUrl, checkedStreamSeconds, checkedStreamsMax, envNames } from '../lib/topology/env.js';
import { EngineError } from '../lib/base/errors.js';
import { dueShardsMax, dueShardsMin } from '../lib/base/limits.js';
import type { OutwaitProps, OutwaitServe } from './props.js';
import { checkRollout } from './rollout.js';

/**
 * Refuses values whose problem would show only at deployment, or not even then.
 * @throws EngineError `CONFIG_INVALID` that names the property
 */
export function checkProps(props: OutwaitProps): void {
  checkEnvironment(props.environment ?? {});
  checkNames('secrets', props.secrets ?? []);
  checkNames('parameters', props.parameters ?? []);
  for (const name of ['api', 'schedule', 'serve'] as const) {
    if (props.functions?.[name]?.maxConcurrency !== undefined)
      throw invalid(
        `functions.${name}.maxConcurrency has no effect, since no queue invokes it; use reservedConcurrency`,
      );
  }
  if (props.authorizer !== undefined && props.managementToken !== undefined)
    throw invalid('managementToken has no effect with an authorizer');
  if (props.plainPayloads === 'refuse' && props.payloadKey === undefined)
    throw invalid('plainPayloads: refuse needs a payloadKey');
  if (props.authorizer !== undefined && props.otherManagementTokens !== undefined)
    throw invalid('otherManagementTokens have no effect with an authorizer');
  checkServe(props);
  if (props.rollout !== undefined) checkRollout(props.rollout);
  if (props.publicUrl !== undefined && !Token.isUnresolved(props.publicUrl))
    checkedPublicUrl(props.publicUrl, 'publicUrl');
  if (props.dueShards !== undefined) checkDueShards(props.dueShards);
  const { staleTasksAlarm = 0 } = props;
  if (!Number.isInteger(staleTasksAlarm) || staleTasksAlarm < 0)
    throw invalid(`staleTasksAlarm must be a whole number of at least 0, got ${staleTasksAlarm}`);
}

function checkServe({ serve, functions, domain }: OutwaitProps): void {
  if (serve === undefined || serve === false) {
    if (functions?.serve !== undefined) throw invalid('functions.serve has no effect without serve');
    return;
  }
  // From JavaScript, or a cast: nobody may call unless it is said who.
  const { access } = serve as Partial<OutwaitServe>;
  if (access?.kind !== 'keys' && access?.kind !== 'iam')
    throw invalid('serve.access must say who may call the served workflows: { kind: "keys" } or { kind: "iam" }');
  if (serve.streamSeconds !== undefined) checkedStreamSeconds(String(serve.streamSeconds), 'serve.streamSeconds');
  const { streamsMax } = serve;
  if (streamsMax !== undefined) checkedStreamsMax(String(streamsMax), 'serve.streamsMax');
  const reserved = functions?.serve?.reservedConcurrency;
  if (streamsMax !== undefined && reserved !== undefined && streamsMax >= reserved)
    throw invalid('serve.streamsMax must be less than functions.serve.reservedConcurrency: other requests need some');
  if (serve.domain !== undefined && serve.domain.name === domain?.name)
    throw invalid('serve.domain must be another domain than that of the HTTP API, whose paths take up all of it');
}

function checkEnvironment(environment: Readonly<Record<string, string>>): void {
  const names = Object.keys(environment);
  const own = names.filter(
    (name) => (Object.values(envNames) as string[]).includes(name) && name !== envNames.logLevel,
  );
  if (own.length > 0) throw invalid(`environment must not set what the construct sets: ${own.join(', ')}`);
  const notTaken = names.filter((name) => !/^[A-Za-z][A-Za-z0-9_]+$/.test(name));
  if (notTaken.length > 0)
    throw invalid(
      `environment has names that Lambda does not accept: ${notTaken.map((name) => JSON.stringify(name)).join(', ')}`,
    );
}

/** Checks names that become resources of role policies. */
function checkNames(setting: 'secrets' | 'parameters', names: readonly string[]): void {
  const wildcard = names.find((name) => name === '' || /[*?]/.test(name));
  if (wildcard !== undefined) throw invalid(`${setting} must be names or ARNs without wildcards, got "${wildcard}"`);
}

function checkDueShards(dueShards: number): void {
  if (Number.isInteger(dueShards) && dueShards >= dueShardsMin && dueShards <= dueShardsMax) return;
  throw invalid(`dueShards must be a whole number from ${dueShardsMin} to ${dueShardsMax}, got ${dueShards}`);
}

function invalid(message: string): EngineError {
  return new EngineError('CONFIG_INVALID', message);
}

import type { PushConfigRecord, PushReceiver, PushState } from '../../history/push-config.js';
import type { Item } from '../table.js';
import { count, fields, number, optional, payload, text, word } from './fields.js';
import { marker } from './indexes.js';
import { pushConfigIdOf, pushConfigKey, runIdOf } from './keys.js';

type StateFields = Omit<PushState, 'taskId' | 'configId'>;

export const pushFields = fields<StateFields>({
  createdAtMs: number,
  wire: word<PushState['wire']>(),
  cursor: number,
  owed: count,
  failures: count,
  refusals: count,
  dueAtMs: optional(number),
  writerId: optional(text),
  claimUntilMs: optional(number),
  closedAtMs: optional(number),
  removedAtMs: optional(number),
});

const receiverField = fields<{ readonly receiver: PushReceiver }>({ receiver: payload<PushReceiver>() });

/** Attributes of how far a config is: all but its receiver, which need not be opened for it. */
export const pushStateAttributes = pushFields.attributes;
/** Attributes that a removed config loses. */
export const removedPushAttributes = [...receiverField.attributes, ...pushFields.names('writerId', 'claimUntilMs')];
export const pushClaimAttributes = pushFields.names('writerId', 'claimUntilMs');
export const pushFailureAttributes = pushFields.names('failures', 'refusals');

export function pushConfigItem({ taskId, configId, receiver, dueAtMs, ...state }: PushConfigRecord): Item {
  return {
    ...pushConfigKey(taskId, configId),
    ...pushFields.write(state),
    ...receiverField.write({ receiver }),
    ...marker(taskId, dueAtMs),
  };
}

export function toPushState(item: Item): PushState {
  return { taskId: runIdOf(item), configId: pushConfigIdOf(item), ...pushFields.read(item) };
}

/** Returns undefined for a config that was removed. */
export function toPushConfig(item: Item): PushConfigRecord | undefined {
  const state = toPushState(item);
  return state.removedAtMs === undefined ? { ...state, ...receiverField.read(item) } : undefined;
}

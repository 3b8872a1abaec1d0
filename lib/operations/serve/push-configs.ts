import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { canonicalJson } from '../../base/json.js';
import { nameProblem } from '../../base/name.js';
import type { PushConfigRecord, PushReceiver } from '../../history/push-config.js';
import type { NewPushConfig, PushConfig, PushConfigPage, PushConfigs } from '../../serve/push-configs.js';
import type { Deps } from '../deps.js';
import { pushUrlProblem } from '../push-url.js';
import { pushAt } from '../wake.js';
import { readTask } from './read-task.js';

const idMaxBytes = 256;
const secretMaxBytes = 8_192;
/** Configs of one task: a turn notes on each what it owes. */
const configsMax = 32;
/** Ids of configs of one task, ever. */
const idsMax = 200;

/** Creates the push configs of the tasks of the caller of `deps`. */
export function createPushConfigs(deps: Deps): PushConfigs {
  return {
    set: async (taskId, config) => {
      const { fold } = await readTask(deps, taskId);
      await checkPushConfig(deps, config);
      return setConfig(deps, { taskId, config, cursor: fold.generation });
    },
    read: async (taskId, id) => {
      await readTask(deps, taskId);
      return withoutSecrets(await find(deps, taskId, id));
    },
    list: async (taskId, page) => {
      await readTask(deps, taskId);
      return listConfigs(deps, taskId, page);
    },
    remove: async (taskId, id) => {
      await readTask(deps, taskId);
      await (await deps.store.pushConfigs()).remove(taskId, id, deps.clock.nowMs());
    },
  };
}

/** @throws EngineError `INPUT_INVALID` for a config that cannot be used, or whose URL may not be pushed to */
export async function checkPushConfig(deps: Deps, config: NewPushConfig): Promise<void> {
  const { id, url, token, authentication } = config;
  const { scheme, credentials } = authentication ?? {};
  const idProblem = id === undefined ? undefined : nameProblem(id, { maxBytes: idMaxBytes });
  if (idProblem !== undefined) throw invalid(`its id ${idProblem}`);
  if (scheme !== undefined && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(scheme))
    throw invalid('its scheme must be a word');
  for (const [name, secret] of Object.entries({ token, credentials }))
    if (secret !== undefined && !isHeaderValue(secret))
      throw invalid(`its ${name} must be printable ASCII, at most ${secretMaxBytes} characters`);
  const urlProblem = await pushUrlProblem(deps, url);
  if (urlProblem !== undefined) throw invalid(`its url ${urlProblem}`);
}

/**
 * Puts the config that a start came with, unless the task has had it: a repeat of the start brings back what its first
 * one owed, but nothing that was replaced or removed since.
 */
export async function putConfigOfStart(deps: Deps, taskId: string, config: IdentifiedConfig): Promise<void> {
  await put(deps, recordOf(deps, { taskId, config, cursor: 1 }), { onlyNew: true });
}

/**
 * Puts the config that a further message comes with, before the message: a crash between the two loses neither. One that
 * is there already goes on where it was. @throws EngineError `INPUT_INVALID` if the task may have no more of them
 */
export async function putConfigOfMessage(deps: Deps, asked: Asked): Promise<void> {
  const record = recordOf(deps, asked);
  const before = await withIdOrRoom(deps, record);
  if (before?.wire === record.wire && sameJson(before.receiver, record.receiver)) return;
  await put(deps, record);
  if (before === undefined) await requirePlace(deps, record.taskId, record.configId);
}

type IdentifiedConfig = NewPushConfig & { readonly id: string };

interface Asked {
  readonly taskId: string;
  readonly config: NewPushConfig;
  /** Generation after which news are pushed. */
  readonly cursor: number;
}

async function setConfig(deps: Deps, asked: Asked): Promise<PushConfig> {
  const record = recordOf(deps, asked);
  const before = await withIdOrRoom(deps, record);
  await put(deps, record);
  if (before === undefined) await requirePlace(deps, record.taskId, record.configId);
  return withoutSecrets(record);
}

function recordOf(deps: Deps, { taskId, config, cursor }: Asked): TaskConfig {
  const { id: configId = deps.random.hex(16), url, token, authentication, wire } = config;
  return {
    ...{ taskId, configId, createdAtMs: deps.clock.nowMs(), wire, cursor, owed: 0, failures: 0, refusals: 0 },
    receiver: { url, ...defined({ token, authentication }) },
  };
}

/** Puts a config with a marker. */
async function put(deps: Deps, record: TaskConfig, { onlyNew = false } = {}): Promise<void> {
  const { taskId: runId, configId, createdAtMs: atMs } = record;
  await (await deps.store.pushConfigs()).put({ ...record, dueAtMs: atMs }, onlyNew);
  await pushAt(deps, { kind: 'push', runId, configId }, atMs);
}

/** Returns the config that another one replaces. @throws EngineError `INPUT_INVALID` if there is none, and no room */
async function withIdOrRoom(deps: Deps, { taskId, configId }: TaskConfig): Promise<TaskConfig | undefined> {
  const known = (await (await deps.store.pushConfigs()).readAll(taskId)).filter(isOfTask);
  const before = known.find((other) => other.configId === configId);
  if (before === undefined) await requireRoom(deps, taskId, known.length);
  return before;
}

/** @throws EngineError `INPUT_INVALID` if a task has as many configs, or has had as many ids of them, as it may */
async function requireRoom(deps: Deps, taskId: string, known: number): Promise<void> {
  if (known >= configsMax) throw tooMany();
  // An id stays, so that nothing late brings its config back, and each turn of the task reads past it.
  if ((await (await deps.store.pushConfigs()).countIds(taskId)) >= idsMax)
    throw invalid(`a task takes at most ${idsMax} ids of them, removed ones among these`);
}

/**
 * Removes a config that was put with others at once, more than there was room for: the oldest ones stay.
 * @throws EngineError `INPUT_INVALID` then
 */
async function requirePlace(deps: Deps, taskId: string, configId: string): Promise<void> {
  const store = await deps.store.pushConfigs();
  const known = (await store.readAll(taskId)).filter(isOfTask);
  if (known.length <= configsMax) return;
  // Configs of one instant keep the order of their ids, in which they were read.
  const staying = known.toSorted((a, b) => a.createdAtMs - b.createdAtMs).slice(0, configsMax);
  if (staying.some((other) => other.configId === configId)) return;
  await store.remove(taskId, configId, deps.clock.nowMs());
  throw tooMany();
}

const tooMany = (): EngineError => invalid(`a task has at most ${configsMax} of them`);

/** A config of a task: the callback of a run is none. */
type TaskConfig = PushConfigRecord & { readonly wire: NewPushConfig['wire'] };

function isOfTask(config: PushConfigRecord | undefined): config is TaskConfig {
  return config !== undefined && config.wire !== 'callback';
}

async function find(deps: Deps, taskId: string, id: string | undefined): Promise<TaskConfig> {
  const store = await deps.store.pushConfigs();
  const found =
    id === undefined
      ? (await store.readAll(taskId)).toSorted((a, b) => a.createdAtMs - b.createdAtMs)[0]
      : await store.read(taskId, id);
  if (!isOfTask(found)) throw new EngineError('TASK_NOT_FOUND', 'the task has no such push config');
  return found;
}

async function listConfigs(
  deps: Deps,
  taskId: string,
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken?: string },
): Promise<PushConfigPage> {
  const after = pageToken === undefined ? '' : idIn(pageToken);
  const all = (await (await deps.store.pushConfigs()).readAll(taskId)).filter(isOfTask);
  // The store sorts by bytes, texts by their units.
  const rest = all.filter(({ configId }) => Buffer.compare(Buffer.from(configId), Buffer.from(after)) > 0);
  const page = rest.slice(0, pageSize);
  const last = rest.length > page.length ? page.at(-1) : undefined;
  return { configs: page.map(withoutSecrets), ...defined({ nextPageToken: last && tokenOf(last.configId) }) };
}

const tokenOf = (id: string): string => Buffer.from(id).toString('base64url');

function idIn(pageToken: string): string {
  const id = Buffer.from(pageToken, 'base64url').toString();
  if (id === '' || tokenOf(id) !== pageToken) throw new EngineError('INPUT_INVALID', 'the page token is not valid');
  return id;
}

/** Returns a config without its secrets. */
function withoutSecrets({ configId: id, wire, receiver: { url, authentication } }: TaskConfig): PushConfig {
  const scheme = authentication?.scheme;
  return { id, url, wire, ...defined({ authentication: scheme === undefined ? undefined : { scheme } }) };
}

function sameJson(a: PushReceiver, b: PushReceiver): boolean {
  return canonicalJson({ ...a }) === canonicalJson({ ...b });
}

function isHeaderValue(text: string): boolean {
  return text.length <= secretMaxBytes && /^[\x20-\x7e]*$/.test(text);
}

function invalid(problem: string): EngineError {
  return new EngineError('INPUT_INVALID', `the push config is not valid: ${problem}`);
}

import { EngineError } from '../../lib/base/errors.js';
import { defined } from '../../lib/base/defined.js';
import type { NewPushConfig, PushConfig, PushConfigs } from '../../lib/serve/push-configs.js';
import type { Tasks } from '../../lib/serve/tasks.js';

/** Push configs in memory, of the tasks of one caller. They keep no secrets, and push nothing. */
export class MemoryPushConfigs implements PushConfigs {
  readonly #tasks: Tasks;
  readonly #configs: Map<string, Map<string, PushConfig>>;

  /** `configs`: what the objects of all callers share. */
  constructor(tasks: Tasks, configs = new Map<string, Map<string, PushConfig>>()) {
    this.#tasks = tasks;
    this.#configs = configs;
  }

  async set(taskId: string, { url, id, wire, authentication }: NewPushConfig): Promise<PushConfig> {
    const configs = await this.#of(taskId);
    if (new URL(url).hostname === 'internal.example.com')
      throw new EngineError('INPUT_INVALID', 'the address is not pushed to');
    const shown = authentication === undefined ? undefined : { scheme: authentication.scheme };
    const config = { id: id ?? `push-${configs.size + 1}`, url, wire, ...defined({ authentication: shown }) };
    configs.set(config.id, config);
    return config;
  }

  async read(taskId: string, id?: string): Promise<PushConfig> {
    const configs = await this.#of(taskId);
    const found = id === undefined ? [...configs.values()][0] : configs.get(id);
    if (found === undefined) throw new EngineError('TASK_NOT_FOUND', 'there is no such push config');
    return found;
  }

  async list(taskId: string): Promise<{ readonly configs: readonly PushConfig[] }> {
    return { configs: [...(await this.#of(taskId)).values()] };
  }

  async remove(taskId: string, id: string): Promise<void> {
    (await this.#of(taskId)).delete(id);
  }

  async #of(taskId: string): Promise<Map<string, PushConfig>> {
    await this.#tasks.read(taskId);
    const configs = this.#configs.get(taskId) ?? new Map<string, PushConfig>();
    this.#configs.set(taskId, configs);
    return configs;
  }
}

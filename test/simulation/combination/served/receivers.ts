import { sequenceExtension } from '../../../../lib/base/a2a-extensions.js';
import type { EpochMs } from '../../../../lib/base/time.js';
import type { Push } from '../../../../lib/remote/push-sender.js';
import { toPushConfig } from '../../../../lib/store/items/push-config.js';
import type { Item } from '../../../../lib/store/table.js';
import type { Process, Receiver, World } from '../../world.js';
import type { Case } from '../timetable.js';
import type { ReceiverKind } from './served.js';
import type { TaskTruth } from './truth.js';

const S = 1_000;
/** Clocks that are further apart than this break the claims of senders, which are a promise about clocks. */
const skewMaxMs = 4 * S;

/** A push config as one caller put it; whoever replaces it has another URL. */
interface Version {
  readonly url: string;
  readonly taskId: string;
  readonly configId: string;
  /** Generation after which news are pushed. */
  readonly cursor: number;
  over: { readonly how: 'replaced' | 'removed' | 'closed'; readonly atMs: EpochMs } | undefined;
  /** Generations that the receiver took, in the order in which they came. */
  readonly taken: number[];
  /** Generations that the receiver does not want. */
  readonly refused: Set<number>;
  /** Processes that have sent something after the end of the config. */
  readonly late: Set<Process>;
  count: number;
  /** The cursor as last written: a put that comes late begins anew. */
  position: number;
}

/** The receivers of pushes: they answer as drawn, and check what they get. */
export class Receivers {
  readonly #world: World;
  readonly #kinds: readonly ReceiverKind[];
  readonly #skewMs: number;
  readonly #truthOf: (taskId: string) => TaskTruth | undefined;
  readonly #versions = new Map<string, Version>();
  /** The current version of each config, by task and id. */
  readonly #current = new Map<string, Version>();

  constructor(world: World, { served, skews }: Case, truthOf: (taskId: string) => TaskTruth | undefined) {
    this.#world = world;
    this.#kinds = served?.receivers ?? [];
    this.#skewMs = Math.max(0, ...skews.map(Math.abs)) * S;
    this.#truthOf = truthOf;
  }

  /** Returns the URL of a receiver for one config. */
  static urlOf(receiver: number, name: string): string {
    return `https://receiver-${receiver}.example.com/${name}`;
  }

  onItem(item: Item): void {
    const config = toPushConfig(item);
    const key = `${item.pk} ${item.sk}`;
    const current = this.#current.get(key);
    const { nowMs } = this.#world;
    if (config === undefined) {
      if (current !== undefined) current.over ??= { how: 'removed', atMs: nowMs };
      return;
    }
    const { url } = config.receiver;
    if (config.closedAtMs !== undefined && current !== undefined) current.over ??= { how: 'closed', atMs: nowMs };
    const { taskId, configId, cursor } = config;
    if (current?.url === url && cursor >= current.position) {
      current.position = cursor;
      return;
    }
    if (current !== undefined) current.over ??= { how: 'replaced', atMs: nowMs };
    const version: Version = {
      ...{ url, taskId, configId, cursor, over: undefined, taken: [], refused: new Set(), late: new Set(), count: 0 },
      position: cursor,
    };
    this.#versions.set(url, version);
    this.#current.set(key, version);
  }

  readonly receive: Receiver = (push, process) => {
    const version = this.#versions.get(push.url);
    if (version === undefined) {
      this.#fail('push-before-config', push.url);
      return { answer: { kind: 'failed' }, takesMs: 50 };
    }
    const generation = generationOf(push);
    this.#checkPush(version, process, generation);
    version.count++;
    const kind = this.#kinds[Number(/receiver-(\d+)/.exec(push.url)?.[1])] ?? 'ok';
    const status = this.#statusOf(kind, version, generation);
    if (status < 300) version.taken.push(generation);
    if (status === 400) version.refused.add(generation);
    return { answer: { kind: 'answered', status }, takesMs: kind === 'slow' ? 8 * S : 50 };
  };

  /** Checks the order of the pushes of a config, and that none comes that it is not owed. */
  #checkPush(version: Version, process: Process, generation: number): void {
    const { cursor, taken, over, late, configId, taskId } = version;
    const where = `${configId} of task ${taskId.slice(0, 4)}`;
    const truth = this.#truthOf(taskId);
    if (generation > (truth?.generation ?? 0)) this.#fail('push-before-commit', `${generation} to ${where}`);
    if (generation <= cursor) this.#fail('push-of-old-news', `${generation} to ${where}, which began at ${cursor}`);
    const last = taken.at(-1) ?? 0;
    if (generation < last && this.#skewMs <= skewMaxMs)
      this.#fail('push-out-of-order', `${generation} after ${last} to ${where}`);
    if (over === undefined) return;
    if (late.has(process)) this.#fail('push-after-config', `${generation} to ${where}, which was ${over.how}`);
    late.add(process);
  }

  #statusOf(kind: ReceiverKind, { count, taken }: Version, generation: number): number {
    const { seconds } = this.#world;
    switch (kind) {
      case 'ok':
      case 'slow':
        return 200;
      case 'down':
        return seconds < 150 ? 503 : 200;
      case 'gone':
        return taken.length >= 2 ? 410 : 200;
      case 'picky':
        return generation % 2 === 0 ? 200 : 400;
      case 'locked':
        // A second refusal in a row is not for good yet.
        return seconds < 60 && count < 2 ? 401 : 200;
    }
  }

  /** Checks that each config was sent what it was owed, or is over. */
  checkEnd(): void {
    for (const { over, taskId, configId, cursor, taken, refused } of this.#versions.values()) {
      if (over !== undefined) continue;
      const told = (this.#truthOf(taskId)?.changes ?? []).flatMap((seen, at) =>
        at + 2 > cursor && (seen.kind === 'status' || seen.isLast) ? [at + 2] : [],
      );
      const left = told.filter((generation) => !taken.includes(generation) && !refused.has(generation));
      if (left.length > 0)
        this.#fail('push-lost', `${left.join(', ')} to ${configId} of task ${taskId.slice(0, 4)}, after ${cursor}`);
    }
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}

interface StreamResponse {
  readonly statusUpdate?: { readonly metadata: Readonly<Record<string, { readonly generation: number }>> };
  readonly artifactUpdate?: StreamResponse['statusUpdate'];
  readonly task?: StreamResponse['statusUpdate'];
}

function generationOf({ body }: Push): number {
  const { statusUpdate, artifactUpdate, task } = JSON.parse(body) as StreamResponse;
  return (statusUpdate ?? artifactUpdate ?? task)?.metadata[sequenceExtension]?.generation ?? 0;
}

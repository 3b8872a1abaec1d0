import type { Caller } from '../../../lib/base/caller.js';
import { hasCode } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { requireOwnRun } from '../../../lib/operations/own-run.js';
import { listRuns } from '../../../lib/operations/views/list-runs.js';
import { toInbox } from '../../../lib/store/items/inbox.js';
import { tenantCountKey } from '../../../lib/store/items/keys.js';
import type { Item } from '../../../lib/store/table.js';
import type { World } from '../world.js';
import { Dice } from './dice.js';
import { isEnded, type Oracles, short } from './oracles.js';

const names = ['acme', 'globex'] as const;
/** Live runs that a tenant may have. */
const liveRuns = 2;

/** Two tenants whose callers act on runs at random, their own and others'. */
export class Tenants {
  readonly #world: World;
  readonly #oracles: Oracles;
  readonly #dice: Dice;

  constructor(world: World, oracles: Oracles, seed: number) {
    this.#world = world;
    this.#oracles = oracles;
    this.#dice = new Dice(seed);
  }

  /** Returns the dependencies for the next request: that of a caller of one of the tenants. */
  asCaller(deps: Deps): Deps {
    const tenant = this.#dice.pick(names);
    const caller: Caller = { id: `user of ${tenant}`, tenant, roles: ['operate'] };
    return { ...deps, caller, app: { ...deps.app, access: { limits: { liveRuns } } } };
  }

  /** Lets a caller through to a run as the API does, and checks that it is one of its tenant. */
  async letIn(deps: Deps, runId: string): Promise<void> {
    const own = this.#tenantOf(runId);
    const tenant = deps.caller?.tenant;
    try {
      await requireOwnRun(deps, runId);
    } catch (error) {
      if (hasCode(error, 'RUN_NOT_FOUND') && own === tenant && this.#oracles.book(runId)?.chain.hasLoss === false)
        this.#world.fail('tenant-shut-out', `run ${short(runId)} of ${own ?? 'none'}`);
      throw error;
    }
    if (own !== tenant)
      this.#world.fail('tenant-let-in', `run ${short(runId)} of ${own ?? 'none'} by one of ${tenant ?? 'none'}`);
  }

  /** Checks that a list of a tenant has nothing of another one. */
  async checkList(deps: Deps): Promise<void> {
    const { runs } = await listRuns(deps, { limit: 100 });
    const foreign = runs.find(({ runId, tenant }) => {
      const own = this.#tenantOf(runId);
      return own !== deps.caller?.tenant || (tenant !== undefined && tenant !== own);
    });
    if (foreign !== undefined) this.#world.fail('tenant-sees-another', `run ${short(foreign.runId)} in its list`);
  }

  /** Checks each write: whose run it is about, and that a run belongs to the tenant of the run that it came from. */
  onApplied(item: Item): void {
    if (!item.pk.startsWith('run#')) return;
    const runId = item.pk.slice('run#'.length);
    if (item.sk.startsWith('i#')) {
      const { by } = toInbox(item);
      const tenant = this.#tenantOf(runId);
      if (by !== undefined && tenant !== undefined && by !== `user of ${tenant}`)
        this.#world.fail('tenant-touches-another', `${by} sent ${item.sk} to run ${short(runId)} of ${tenant}`);
    }
    if (item.sk !== 'a') return;
    const { parentRunId, previousRunId, tenant, owner } = item;
    const from = previousRunId ?? parentRunId;
    const origin = from === undefined ? undefined : this.#oracles.book(String(from))?.head;
    if (origin !== undefined && (origin.tenant !== tenant || origin.owner !== owner))
      this.#world.fail('tenant-not-inherited', `run ${short(runId)} is not of ${origin.tenant ?? 'none'}`);
  }

  /** Checks that the count of a tenant is the number of its chains of counted runs that have not ended. */
  async checkCounts(): Promise<void> {
    for (const tenant of names) {
      const item = await this.#world.table.get(tenantCountKey(tenant, 'live'));
      const chains = new Set(
        this.#oracles.books
          .filter(({ head }) => head.tenant === tenant && head.counted === true)
          .map(({ chain }) => chain),
      );
      const live = [...chains].filter(({ runIds }) => {
        const status = this.#oracles.book(runIds.at(-1)!)!.head.status;
        return !isEnded(status) || status === 'continued';
      });
      const count = Number(item?.['live'] ?? 0);
      if (count !== live.length)
        this.#world.fail('live-miscounted', `${tenant}: ${count}, but ${live.length} are live`);
      if (count > liveRuns) this.#world.fail('too-many-live', `${tenant}: ${count}`);
    }
  }

  #tenantOf(runId: string): string | undefined {
    return this.#oracles.book(runId)?.head.tenant;
  }
}

/** Returns the tenant of a caller as the last part of a key's derivation. */
export const tenantOf = ({ caller }: Deps): readonly [tenant?: string] =>
  caller?.tenant === undefined ? [] : [caller.tenant];

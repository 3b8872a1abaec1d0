import pLimit from 'p-limit';
import type { RunSummary } from '../../history/records.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { digestOfName } from '../digest-of-name.js';
import { listRuns } from './list-runs.js';

/** The first characters of a run id by which a run can be found: with fewer, too many runs would match. */
const prefix = /^[0-9a-f]{6,32}$/;
/** Candidates to choose from. */
const runsMax = 10;
/** Ids are looked up in each workflow, so many at a time. */
const lookupsAtATime = 16;

export interface FoundRun extends Pick<RunSummary, 'runId' | 'workflow' | 'status' | 'createdAtMs'> {
  /** The caller's own id, if the run was found by it. */
  readonly id?: string;
}

export interface FoundRuns {
  readonly runs: readonly FoundRun[];
  /** Set if there are more runs than were compared with the prefix: the newest, about a thousand. */
  readonly partlySearched?: true;
}

/**
 * Finds the runs that a person may mean: those whose run id begins with the text, if it has at least six characters, and
 * the last one with this own id in each workflow of the app. `<workflow>/<id>` means the id in that workflow only.
 */
export async function findRuns(deps: Deps, text: string): Promise<FoundRuns> {
  const [byPrefix, byId] = await Promise.all([findByPrefix(deps, text), findById(deps, text)]);
  const runs = new Map<string, FoundRun>([...byId, ...byPrefix.runs].map((run) => [run.runId, run]));
  return { ...byPrefix, runs: [...runs.values()].slice(0, runsMax) };
}

async function findByPrefix(deps: Deps, text: string): Promise<FoundRuns> {
  if (!prefix.test(text)) return { runs: [] };
  const { runs, cursor } = await listRuns(deps, { idPrefix: text, limit: runsMax });
  const found = runs.map(({ runId, workflow, status, createdAtMs }) => ({ runId, workflow, status, createdAtMs }));
  return cursor === undefined ? { runs: found } : { runs: found, partlySearched: true };
}

async function findById(deps: Deps, text: string): Promise<readonly FoundRun[]> {
  const slash = text.indexOf('/');
  const named = slash === -1 ? undefined : text.slice(0, slash);
  const places = [...deps.app.workflows.keys()].map((workflow) => ({ workflow, id: text }));
  if (named !== undefined && deps.app.workflows.has(named)) places.push({ workflow: named, id: text.slice(slash + 1) });
  const atATime = pLimit(lookupsAtATime);
  const found = await Promise.all(places.map(({ workflow, id }) => atATime(() => lastWithId(deps, workflow, id))));
  return found.filter((run) => run !== undefined);
}

async function lastWithId(deps: Deps, workflow: string, id: string): Promise<FoundRun | undefined> {
  const nameKey = digestOfName(deps, { workflow, tenant: deps.caller?.tenant }, id);
  const pointer = await deps.store.names.read(nameKey);
  const chain = pointer === undefined ? undefined : await chainOf(deps, pointer.runId);
  if (chain === undefined) return undefined;
  const { runId, status, createdAtMs } = chain.head;
  return { runId, workflow, status, createdAtMs, id };
}

import { isRunId, type RunId } from '../base/ids.js';
import type { FoundRuns } from '../operations/views/find-runs.js';
import type { ApiClient } from './api-client.js';
import { CliError, exitCodes } from './cli-error.js';
import type { CommonFlags } from './common-options.js';
import { screenOfOutput } from './output.js';
import { formatTable } from './table.js';
import { shortTime } from './times.js';

/**
 * Returns the id of the run that a person means: a run id, its first characters (at least six), or an own id of its
 * start, also as `<workflow>/<id>`. A whole run id takes no request.
 * @throws CliError if there is no such run, or more than one; ApiError
 */
export async function resolveRun(client: ApiClient, reference: string, flags: CommonFlags): Promise<RunId> {
  if (isRunId(reference)) return reference;
  const found = await client.get<FoundRuns>(`/runs?${new URLSearchParams({ match: reference }).toString()}`);
  const [run, ...others] = found.runs;
  if (run !== undefined && others.length === 0) return run.runId;
  if (run === undefined) {
    const where = found.partlySearched === true ? '; of the run ids only those of the newest runs were compared' : '';
    throw problem(
      flags,
      'RUN_NOT_FOUND',
      `no run has the id "${reference}", nor a run id that begins so with at least 6 characters${where}`,
    );
  }
  throw problem(
    flags,
    'RUN_AMBIGUOUS',
    `"${reference}" is ambiguous; give more of the run id, or <workflow>/<id>`,
    found,
  );
}

function problem(flags: CommonFlags, code: string, message: string, found?: FoundRuns): CliError {
  const details = found === undefined ? {} : { details: { runs: found.runs } };
  const text = found === undefined ? message : `${message}\n${candidates(found)}`;
  return new CliError(
    `${text}${found === undefined ? ` (${code})` : ''}`,
    exitCodes.failed,
    flags.json === true ? { error: { code, message, ...details } } : undefined,
  );
}

function candidates({ runs }: FoundRuns): string {
  const screen = { ...screenOfOutput(), hasColor: false };
  return formatTable(
    [
      ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'ID'],
      ...runs.map(({ runId, workflow, status, createdAtMs, id }) => [
        ...[runId, workflow, status, shortTime(createdAtMs, screen), id ?? ''],
      ]),
    ],
    screen,
  );
}

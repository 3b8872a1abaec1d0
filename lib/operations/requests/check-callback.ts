import { EngineError } from '../../base/errors.js';
import type { RunCallback } from '../../history/push-config.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { signingKeyOf } from '../../workflow/people.js';
import type { Deps } from '../deps.js';
import { pushUrlProblem } from '../push-url.js';

/** @throws EngineError `INPUT_INVALID` for a callback that cannot be used, or whose URL may not be sent to */
export async function checkCallback(
  deps: Pick<Deps, 'app' | 'pushSender'>,
  { name, flowControl }: AnyWorkflow,
  { url, secret }: RunCallback,
): Promise<void> {
  const { app } = deps;
  // Several starts are one run, which could tell only one of them.
  if (flowControl?.debounce !== undefined)
    throw new EngineError('INPUT_INVALID', `starts of workflow "${name}" are debounced: they take no callback`);
  if (signingKeyOf(secret) === undefined) throw invalid('its secret must be whsec_ and the base64 of 24 to 64 bytes');
  const { allowedHosts, allowPrivateAddresses = false } = app.callbacks ?? {};
  if (URL.canParse(url) && allowedHosts?.includes(new URL(url).host) === false)
    throw invalid('its url must be on a host of callbacks.allowedHosts');
  const urlProblem = await pushUrlProblem(deps, url, { allowPrivateAddresses });
  if (urlProblem !== undefined) throw invalid(`its url ${urlProblem}`);
}

function invalid(problem: string): EngineError {
  return new EngineError('INPUT_INVALID', `the callback is not valid: ${problem}`);
}

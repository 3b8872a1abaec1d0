import { EngineError } from '../../base/errors.js';
import type { RunCallback } from '../../history/push-config.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import { signingKeyOf } from '../../workflow/people.js';
import type { Deps } from '../deps.js';

const urlMaxChars = 4_096;

/** @throws EngineError `INPUT_INVALID` for a callback that cannot be used, or whose URL may not be sent to */
export async function checkCallback(
  { app, pushSender }: Pick<Deps, 'app' | 'pushSender'>,
  { name, flowControl }: AnyWorkflow,
  { url, secret }: RunCallback,
): Promise<void> {
  // Several starts are one run, which could tell only one of them.
  if (flowControl?.debounce !== undefined)
    throw new EngineError('INPUT_INVALID', `starts of workflow "${name}" are debounced: they take no callback`);
  if (signingKeyOf(secret) === undefined) throw invalid('its secret must be whsec_ and the base64 of 24 to 64 bytes');
  if (url.length > urlMaxChars) throw invalid(`its url is longer than ${urlMaxChars} characters`);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.username !== '' || parsed.password !== '') throw invalid('its url must be a URL without a user name');
  const { allowedHosts, allowPrivateAddresses = false } = app.callbacks ?? {};
  if (allowedHosts?.includes(parsed.host) === false)
    throw invalid('its url must be on a host of callbacks.allowedHosts');
  if ((await pushSender?.allows(url, { allowPrivateAddresses })) !== true)
    throw invalid('its url must be https, at a public address');
}

function invalid(problem: string): EngineError {
  return new EngineError('INPUT_INVALID', `the callback is not valid: ${problem}`);
}

import type { Push } from '../remote/push-sender.js';
import type { Deps } from './deps.js';

const urlMaxChars = 4_096;

/** Returns what is wrong with a URL that is to be pushed to, to follow `its url`; undefined if it may be pushed to. */
export async function pushUrlProblem(
  { pushSender }: Pick<Deps, 'pushSender'>,
  url: string,
  options?: Pick<Push, 'allowPrivateAddresses'>,
): Promise<string | undefined> {
  if (url.length > urlMaxChars) return `is longer than ${urlMaxChars} characters`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.username !== '' || parsed.password !== '') return 'must be a URL without a user name';
  if ((await pushSender?.allows(url, options)) !== true) return 'must be https, at a public address';
  return undefined;
}

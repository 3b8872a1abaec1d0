import { sequenceExtension } from '../../base/a2a-extensions.js';
import type { PushConfigRecord } from '../../history/push-config.js';
import type { Push } from '../../remote/push-sender.js';
import type { A2aVersion, Call } from '../../serve/a2a/call.js';
import { wire03 } from '../../serve/a2a/wire-0.3.js';
import { wire10 } from '../../serve/a2a/wire-1.0.js';
import { signPush } from '../../serve/sign-push.js';
import { isFinal } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import type { TaskNews } from './pushes-after.js';

const historyShown = 20;
const extensions = new Set([sequenceExtension]);

/**
 * Returns an event as its receiver wants it: in 1.0 a StreamResponse, in 0.3 the task. Both carry the generation. The
 * secrets of the config go along, and a signature; the signature is the `Authorization` where the config asks for none.
 */
export async function pushOf(
  deps: Deps,
  config: PushConfigRecord & { readonly wire: A2aVersion },
  news: TaskNews,
): Promise<Push> {
  const { taskId, configId, wire, receiver } = config;
  const { url, token, authentication } = receiver;
  const body = JSON.stringify(bodyOf(wire, news));
  const signature = await signed(deps, { url, taskId, body, id: `${taskId}.${configId}.${news.generation}` });
  const { scheme, credentials } = authentication ?? {};
  const authorization = credentials === undefined ? undefined : `${scheme ?? ''} ${credentials}`;
  return {
    url,
    headers: {
      'content-type': wire === '1.0' ? 'application/a2a+json' : 'application/json',
      'a2a-version': wire,
      'outwait-signature': signature,
      authorization: authorization ?? `Bearer ${signature}`,
      ...(token === undefined ? undefined : { 'x-a2a-notification-token': token, 'a2a-notification-token': token }),
    },
    body,
  };
}

function bodyOf(wire: A2aVersion, { event, isWholeTask, task }: TaskNews) {
  const call: Call = { version: wire, extensions };
  const whole = task();
  const { taskId, contextId, status } = whole;
  const isLast = event.kind === 'status' && isFinal(status.state);
  const named = { taskId, contextId, isLast, historyLength: historyShown };
  const snapshot = { kind: 'snapshot', task: whole } as const;
  return wire === '1.0'
    ? wire10.event({ ...named, followed: isWholeTask ? snapshot : event }, call)
    : wire03.event({ ...named, followed: snapshot }, call);
}

async function signed(
  { tokens, app, publicUrl, serveUrl, clock }: Deps,
  push: { readonly url: string; readonly taskId: string; readonly body: string; readonly id: string },
): Promise<string> {
  const [seed] = tokens.signingSeeds();
  if (seed === undefined) throw new Error('unreachable: there is a token key');
  const issuer = app.serve?.agent.url ?? serveUrl ?? publicUrl ?? 'outwait';
  const { url: audience, ...rest } = push;
  return signPush(seed, { ...rest, issuer, audience, atMs: clock.nowMs() });
}

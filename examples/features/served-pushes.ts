import { createHash } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { a2aAgent, jwtWebhook } from 'outwait';

const desk = 'https://flows.example.com';

/** Returns what takes the pushes of a served workflow at `url`: `take` gets each one that is verified. */
export function pushReceiver(url: string, take: (push: { taskId: string; news: unknown }) => Promise<void>) {
  const keys = createRemoteJWKSet(new URL(`${desk}/.well-known/jwks.json`));
  return async (request: Request): Promise<Response> => {
    const body = await request.text();
    const signature = request.headers.get('outwait-signature') ?? '';
    const verified = await jwtVerify(signature, keys, { issuer: desk, audience: url }).catch(() => undefined);
    const { taskId, request_body_sha256: digest } = verified?.payload ?? {};
    if (typeof taskId !== 'string' || digest !== createHash('sha256').update(body).digest('hex'))
      return new Response(null, { status: 401 });
    // A push may come twice, after a crash of its sender: its generation tells.
    await take({ taskId, news: JSON.parse(body) });
    // Anything but 2xx has the push sent again.
    return new Response(null, { status: 204 });
  };
}

/** Another outwait that calls the desk asks for pushes by itself, and verifies the same signature. */
export const deskForOthers = a2aAgent({
  card: desk,
  pushAuth: jwtWebhook({ issuer: desk, jwksUrl: `${desk}/.well-known/jwks.json`, requireBodyHash: true }),
});

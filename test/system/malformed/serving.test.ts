import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { answerAsStream, isServed } from '../../../lib/local/rest-gateway.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { attack, type Report } from './attack.js';
import type { SentRequest } from './changes.js';
import { type Received, throughRestApi, throughSocket } from './doors.js';
import { aServedScene, type ServedScene } from './served-scene.js';

const requestsPerDoor = Number(process.env['MALFORMED'] ?? 1_500);

/**
 * Changes that no door of A2A may let pass. Unknown fields and parameters are ignored, as the protocol says; so is a name
 * of a field that is not UTF-8, of which the gateway makes text.
 */
const fatal = new Set([
  ...['type of the body', 'size of the body', 'body cut short', 'two bodies', 'encoding in UTF-16'],
  ...['media type', 'no media type', 'nesting of a free field', 'number of keys'],
  ...['no credential', 'forged credential', 'unreadable credential', 'two credentials'],
]);
/** An error of JSON-RPC has the status 200. */
const isRefused = ({ status, body }: Received): boolean =>
  status >= 400 || /^\{"jsonrpc":"2.0",[^{]*"error"/.test(body);
const codeOf = ({ body }: Received): string | undefined => /"reason":"([A-Z_]+)"/.exec(body)?.[1];

const ofBodies = [
  'UNAUTHENTICATED',
  'INVALID_PARAMS',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'REQUEST_TOO_LARGE',
  'PARSE_ERROR',
];
/** Reasons for which each kind of route must have refused: a door whose checks are not reached proves nothing. */
const expectedRefusals: Readonly<Record<string, readonly string[]>> = {
  SendMessage: [...ofBodies, 'INVALID_REQUEST'],
  GetTask: [...ofBodies, 'INVALID_REQUEST'],
  'tasks/get': [...ofBodies, 'INVALID_REQUEST'],
  'POST /message:send': ofBodies,
  'GET /tasks/{id}': ['UNAUTHENTICATED', 'TASK_NOT_FOUND', 'METHOD_NOT_ALLOWED'],
};

type Send = (scene: ServedScene, request: SentRequest) => Promise<Received>;
type Door = (scene: () => ServedScene) => Promise<{ readonly send: Send; close(): void }>;

const lambdaDoor: Door = async () => ({
  send: ({ serve }, request) => throughRestApi(serve, request),
  close: () => undefined,
});

const localDoor: Door = async (scene) => {
  const stopped = new AbortController().signal;
  const server = createGateway(async () => ({ statusCode: 404 }), scene().world.deps.log, {
    takes: isServed,
    answer: (request, body, response) => answerAsStream(scene().serve, request, body, { response, stopped }),
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { send: (_, request) => throughSocket(port, request), close: () => void server.close() };
};

let close = (): void => undefined;
afterEach(() => {
  close();
});

async function attackThrough(
  openDoor: Door,
  { seed, planted, count = requestsPerDoor }: { seed: number; planted?: Partial<Deps>; count?: number },
): Promise<Report> {
  let scene = await aServedScene(planted);
  const door = await openDoor(() => scene);
  close = () => {
    door.close();
  };
  return attack<ServedScene>({
    ...{ seed, count, fatal, isRefused, codeOf },
    aTarget: async () => (scene = await aServedScene(planted)),
    send: (target, request) => door.send(target, request),
  });
}

const secret = new Uint8Array(32).fill(7);

/** Throws for each message to a task. */
class BrokenKeys extends TokenKeys {
  override sentDigest(sent: string): string {
    if (sent.startsWith('message\n')) throw new TypeError('planted');
    return super.sentDigest(sent);
  }
}

describe.each([
  ['an event of a REST API', lambdaDoor, 3],
  ['the local server', localDoor, 4],
] as const)(`${requestsPerDoor} malformed requests for served workflows through %s`, (_door, openDoor, seed) => {
  it(
    'are each answered below 500 in time, and change nothing unless they are accepted',
    async () => {
      const { problems, refusals, counts } = await attackThrough(openDoor, { seed });
      expect(problems).toEqual([]);
      expect(counts.refused).toBeGreaterThan(requestsPerDoor * 0.6);
      expect(counts.accepted).toBeGreaterThan(requestsPerDoor * 0.05);
      for (const [route, reasons] of Object.entries(expectedRefusals))
        expect([route, [...(refusals.get(route) ?? [])]]).toEqual([route, expect.arrayContaining([...reasons])]);
    },
    Math.max(300_000, requestsPerDoor * 100),
  );

  it('find a throw that is planted', async () => {
    const planted = { tokens: new BrokenKeys([{ keyId: 'k1', secret }]) };
    const { problems } = await attackThrough(openDoor, { seed, planted, count: 60 });
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.filter((problem) => !problem.startsWith('failed'))).toEqual([]);
  });
});

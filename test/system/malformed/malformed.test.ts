import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway } from '../../../lib/local/api-gateway.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import type { RouteName } from '../../../lib/topology/routes.js';
import { attack, type Report } from './attack.js';
import type { SentRequest } from './changes.js';
import { throughGateway, throughSocket, type Received } from './doors.js';
import { aScene, type Scene } from './scene.js';

const requestsPerDoor = 5_000;
const memoryGrowthMax = 50_000_000;

const body = ['INPUT_INVALID', 'UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE'];
const view = ['METHOD_NOT_ALLOWED', 'UNAUTHORIZED', 'INPUT_INVALID'];
const act = ['METHOD_NOT_ALLOWED', 'UNAUTHORIZED', ...body];
const settle = ['METHOD_NOT_ALLOWED', ...body];

/** Codes that each route must have refused with: a handler whose checks are not reached proves nothing. */
const expectedRefusals: Readonly<Record<RouteName, string[]>> = {
  checkHealth: ['METHOD_NOT_ALLOWED'],
  startRun: act,
  listRuns: view,
  showRun: [...view, 'RUN_NOT_FOUND'],
  explainRun: [...view, 'RUN_NOT_FOUND'],
  readHistory: [...view, 'RUN_NOT_FOUND'],
  awaitResult: [...view, 'RUN_NOT_FOUND'],
  followRun: [...view, 'RUN_NOT_FOUND'],
  cancelRun: [...act, 'RUN_NOT_FOUND'],
  terminateRun: [...act, 'RUN_NOT_FOUND'],
  pauseRun: [...act, 'RUN_NOT_FOUND'],
  resumeRun: [...act, 'RUN_NOT_FOUND'],
  retryNow: [...act, 'RUN_NOT_FOUND'],
  signalRun: [...act, 'RUN_NOT_FOUND'],
  queryRun: [...act, 'RUN_NOT_FOUND', 'QUERY_NOT_FOUND'],
  settleWait: [...act, 'RUN_NOT_FOUND'],
  pollRemoteTask: [...act, 'RUN_NOT_FOUND'],
  cancelRemoteTask: [...act, 'RUN_NOT_FOUND'],
  listRemoteTasks: view,
  readRemoteTask: [...view, 'REMOTE_TASK_NOT_FOUND'],
  listInputs: view,
  showInput: [...view, 'INPUT_NOT_FOUND'],
  answerInput: [...act, 'INPUT_NOT_FOUND'],
  listServers: view,
  listSchedules: view,
  pauseSchedule: [...act, 'SCHEDULE_NOT_FOUND'],
  resumeSchedule: [...act, 'SCHEDULE_NOT_FOUND'],
  addKey: act,
  listKeys: view,
  rotateKey: [...act, 'NAMED_KEY_NOT_FOUND'],
  revokeKey: [...act, 'NAMED_KEY_NOT_FOUND'],
  listExternalWaits: view,
  completeToken: [...settle, 'TOKEN_INVALID'],
  failToken: [...settle, 'TOKEN_INVALID'],
  heartbeatToken: [...settle, 'TOKEN_INVALID'],
  completeBearer: [...settle, 'UNAUTHORIZED', 'TOKEN_INVALID'],
  failBearer: [...settle, 'UNAUTHORIZED', 'TOKEN_INVALID'],
  heartbeatBearer: [...settle, 'UNAUTHORIZED', 'TOKEN_INVALID'],
  settleBatch: settle,
  receiveHook: [...settle, 'UNAUTHORIZED'],
  receiveA2aPush: [...settle, 'UNAUTHORIZED'],
};

type Send = (request: SentRequest) => Promise<Received>;
type Door = (scene: () => Scene) => Promise<{ readonly send: Send; close(): void }>;

const lambdaDoor: Door = async (scene) => ({
  send: (request) => throughGateway(scene().handler, request),
  close: () => undefined,
});

const localDoor: Door = async (scene) => {
  const server = createGateway((event) => scene().handler(event), scene().world.deps.log);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { send: (request) => throughSocket(port, request), close: () => void server.close() };
};

let close = (): void => undefined;
afterEach(() => {
  close();
});

interface Given {
  readonly seed: number;
  readonly count?: number;
  readonly planted?: Partial<Deps>;
}

async function attackThrough(openDoor: Door, { seed, count = requestsPerDoor, planted }: Given): Promise<Report> {
  let scene = await aScene(planted);
  const door = await openDoor(() => scene);
  close = () => {
    door.close();
  };
  return attack({
    ...{ seed, count },
    aTarget: async () => {
      scene = await aScene(planted);
      const { world, requests, secrets } = scene;
      return { requests, secrets, dump: () => world.dump() };
    },
    send: (_, request) => door.send(request),
  });
}

const secret = new Uint8Array(32).fill(7);

/** Throws where a keyed start sends a long text, which only a change of its size makes. */
class BrokenKeys extends TokenKeys {
  override sentDigest(sent: string): string {
    if (sent.length > 3_000) throw new TypeError('planted');
    return super.sentDigest(sent);
  }
}

describe.each([
  ['an event of API Gateway', lambdaDoor, 1],
  ['the local server', localDoor, 2],
] as const)(`${requestsPerDoor} malformed requests through %s`, (_door, openDoor, seed) => {
  it('are each answered below 500 in time, and change nothing unless they are accepted', async () => {
    const { problems, refusals, counts, memoryGrowth } = await attackThrough(openDoor, { seed });
    expect(problems).toEqual([]);
    expect(counts.refused).toBeGreaterThan(requestsPerDoor * 0.7);
    expect(counts.accepted).toBeGreaterThan(100);
    expect(memoryGrowth).toBeLessThan(memoryGrowthMax);
    for (const [route, codes] of Object.entries(expectedRefusals))
      expect([route, [...(refusals.get(route) ?? [])]]).toEqual([route, expect.arrayContaining(codes)]);
  }, 300_000);

  it('find a throw that is planted', async () => {
    const { problems } = await attackThrough(openDoor, {
      seed,
      count: 3_000,
      planted: { tokens: new BrokenKeys([{ keyId: 'k1', secret }]) },
    });
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.filter((problem) => !problem.startsWith('failed'))).toEqual([]);
  });
});

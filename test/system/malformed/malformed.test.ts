import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway } from '../../../lib/local/api-gateway.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import type { RouteName } from '../../../lib/topology/routes.js';
import { seeded } from '../../simulation/random.js';
import { changed, pairsOf, random, type SentRequest } from './changes.js';
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

interface Report {
  readonly problems: string[];
  /** Codes with which each route refused. */
  readonly refusals: Map<RouteName, Set<string>>;
  readonly counts: { refused: number; accepted: number };
  readonly memoryGrowth: number;
}

interface Attack {
  readonly seed: number;
  readonly count?: number;
  readonly planted?: Partial<Deps>;
}

async function attack(openDoor: Door, { seed, count: total = requestsPerDoor, planted }: Attack): Promise<Report> {
  const draw = seeded(seed);
  let scene = await aScene(planted);
  const door = await openDoor(() => scene);
  close = () => {
    door.close();
  };
  const refusals = new Map<RouteName, Set<string>>();
  const problems: string[] = [];
  const counts = { refused: 0, accepted: 0 };
  let before = scene.world.dump();
  let pairs = pairsOf(scene.requests);
  let memoryAtStart = 0;
  for (let count = 0; count < total; count++) {
    // After the first tenth everything is loaded.
    if (count === total / 10) memoryAtStart = usedMemory();
    const isRandom = count % 3 === 0;
    const pair = pairs[Math.floor((count * 2) / 3) % pairs.length]!;
    const request = isRandom ? random(draw, scene.requests) : changed(draw, pair);
    const received = await inTime(door.send(request));
    const after = scene.world.dump();
    const problem = problemWith(request, received, { isChanged: after !== before, secrets: scene.secrets });
    if (problem !== undefined) problems.push(`${problem}: ${shown(request)} -> ${shownAnswer(received)}`);
    if (received.status >= 400) {
      counts.refused++;
      if (!isRandom) note(refusals, pair.request.route, received);
    } else counts.accepted++;
    if (after === before) continue;
    scene = await aScene(planted);
    pairs = pairsOf(scene.requests);
    before = scene.world.dump();
  }
  return { problems, refusals, counts, memoryGrowth: usedMemory() - memoryAtStart };
}

function problemWith(
  { mustBeRefused }: SentRequest,
  { status, body }: Received,
  { isChanged, secrets }: { readonly isChanged: boolean; readonly secrets: readonly string[] },
): string | undefined {
  if (status === -1) return 'hung';
  if (status >= 500) return 'failed';
  if (status < 200 || (mustBeRefused && status < 400)) return 'not refused';
  if (status >= 400 && isChanged) return 'changed the state';
  if (status >= 400 && secrets.some((secret) => body.includes(secret))) return 'told a secret';
  if (status >= 400 && body.length > 20_000) return 'long answer';
  return undefined;
}

function note(refusals: Map<RouteName, Set<string>>, route: RouteName, { body }: Received): void {
  const code = /"code":"([A-Z_]+)"/.exec(body)?.[1];
  if (code === undefined) return;
  const codes = refusals.get(route) ?? new Set();
  refusals.set(route, codes.add(code));
}

function inTime(receiving: Promise<Received>): Promise<Received> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Received>((resolve) => {
    timer = setTimeout(resolve, 10_000, { status: -1, body: '' });
  });
  return Promise.race([receiving, late]).finally(() => {
    clearTimeout(timer);
  });
}

function shown({ change, method, path, query, headers, body }: SentRequest): string {
  const text = body?.subarray(0, 200).toString('latin1') ?? '';
  return `[${change}] ${method} ${path}?${query} ${JSON.stringify(headers)} ${JSON.stringify(text)} (${body?.length})`;
}

function shownAnswer({ status, body }: Received): string {
  return `${status} ${body.slice(0, 200)}`;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedMemory(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
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
    const { problems, refusals, counts, memoryGrowth } = await attack(openDoor, { seed });
    expect(problems).toEqual([]);
    expect(counts.refused).toBeGreaterThan(requestsPerDoor * 0.7);
    expect(counts.accepted).toBeGreaterThan(100);
    expect(memoryGrowth).toBeLessThan(memoryGrowthMax);
    for (const [route, codes] of Object.entries(expectedRefusals))
      expect([route, [...(refusals.get(route as RouteName) ?? [])]]).toEqual([route, expect.arrayContaining(codes)]);
  });

  it('find a throw that is planted', async () => {
    const { problems } = await attack(openDoor, {
      seed,
      count: 3_000,
      planted: { tokens: new BrokenKeys([{ keyId: 'k1', secret }]) },
    });
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.filter((problem) => !problem.startsWith('failed'))).toEqual([]);
  });
});

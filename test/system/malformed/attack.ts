import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seeded } from '../../simulation/random.js';
import { changed, pairsOf, random, type SentRequest } from './changes.js';
import type { Received } from './doors.js';
import type { ValidRequest } from './scene.js';

/** What is attacked: a state, and requests that it accepts. */
export interface Target {
  readonly requests: readonly ValidRequest[];
  /** Texts that no response may contain. */
  readonly secrets: readonly string[];
  /** Returns the state, in a form that shows any change. */
  dump(): string;
}

export interface Attack<Attacked extends Target> {
  readonly seed: number;
  readonly count: number;
  /** Creates a target, also after each change of its state. */
  readonly aTarget: () => Promise<Attacked>;
  readonly send: (target: Attacked, request: SentRequest) => Promise<Received>;
  /** Default: it has a status of 400 or more. */
  readonly isRefused?: (received: Received) => boolean;
  /** Code of a refusal. Default: of the errors of the management API. */
  readonly codeOf?: (received: Received) => string | undefined;
  /** Names of the changes after which a request must be refused. Default: as the changes say themselves. */
  readonly fatal?: ReadonlySet<string>;
}

export interface Report {
  readonly problems: string[];
  /** Codes with which each route refused. */
  readonly refusals: Map<string, Set<string>>;
  readonly counts: { refused: number; accepted: number };
  readonly memoryGrowth: number;
}

const hasErrorStatus = ({ status }: Received): boolean => status >= 400;
const codeOfManagement = ({ body }: Received): string | undefined => /"code":"([A-Z_]+)"/.exec(body)?.[1];

/** Sends so many requests, each a valid one with one change, or a random one, and returns what went wrong. */
export async function attack<Attacked extends Target>(options: Attack<Attacked>): Promise<Report> {
  const { seed, count: total, aTarget, send, isRefused = hasErrorStatus, codeOf = codeOfManagement, fatal } = options;
  const draw = seeded(seed);
  let target = await aTarget();
  const refusals = new Map<string, Set<string>>();
  const problems: string[] = [];
  const counts = { refused: 0, accepted: 0 };
  let before = target.dump();
  let pairs = pairsOf(target.requests);
  let memoryAtStart = 0;
  for (let count = 0; count < total; count++) {
    // After the first tenth everything is loaded.
    if (count === total / 10) memoryAtStart = usedMemory();
    const isRandom = count % 3 === 0;
    const pair = pairs[Math.floor((count * 2) / 3) % pairs.length]!;
    const made = isRandom ? random(draw, target.requests) : changed(draw, pair);
    const request = fatal === undefined ? made : { ...made, mustBeRefused: fatal.has(made.change) };
    const received = await inTime(send(target, request));
    const after = target.dump();
    const refused = isRefused(received);
    const problem = problemWith(request, received, {
      ...{ isRefused: refused, isChanged: after !== before, secrets: target.secrets },
    });
    if (problem !== undefined) problems.push(`${problem}: ${shown(request)} -> ${shownAnswer(received)}`);
    if (refused) {
      counts.refused++;
      if (!isRandom) note(refusals, pair.request.route, codeOf(received));
    } else counts.accepted++;
    if (after === before) continue;
    target = await aTarget();
    pairs = pairsOf(target.requests);
    before = target.dump();
  }
  return { problems, refusals, counts, memoryGrowth: usedMemory() - memoryAtStart };
}

interface Seen {
  readonly isRefused: boolean;
  readonly isChanged: boolean;
  readonly secrets: readonly string[];
}

function problemWith(
  { mustBeRefused }: SentRequest,
  { status, body }: Received,
  { isRefused, isChanged, secrets }: Seen,
): string | undefined {
  if (status === -1) return 'hung';
  if (status >= 500) return 'failed';
  if (status < 200 || (mustBeRefused && !isRefused)) return 'not refused';
  if (isRefused && isChanged) return 'changed the state';
  if (isRefused && secrets.some((secret) => body.includes(secret))) return 'told a secret';
  if (isRefused && body.length > 20_000) return 'long answer';
  return undefined;
}

function note(refusals: Map<string, Set<string>>, route: string, code: string | undefined): void {
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

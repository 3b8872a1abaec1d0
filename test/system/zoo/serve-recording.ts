import { setTimeout as delay } from 'node:timers/promises';
import { serve, type LoopbackServer } from '../../unit/remote/loopback.js';
import {
  clientIds,
  isOverStream,
  operationOf,
  type RecordedExchange,
  type RecordedScene,
  type Recording,
} from './recording.js';

export interface ZooServer {
  readonly origin: string;
  readonly received: LoopbackServer['received'];
  /** Returns how many tasks, or calls, were started here. */
  readonly starts: () => number;
  /** Operations that the foreign server never received, so that this one cannot answer them. */
  readonly unknown: readonly string[];
}

/** Methods and paths that start a task. */
const starting = ['SendMessage', 'message/send', 'tools/call', 'POST /message:send'];

/**
 * Starts our own server that answers as the foreign one did: the same replies in the same order, scene by scene. The
 * request that starts a task chooses the scene, plain or over a stream; the last reply to a read repeats. Ids of the
 * client and the origin are replaced. A reply that was cut stays open until the client hangs up. `pace`: factor of the
 * recorded times; default: 0, no delay.
 */
export async function serveRecording(recording: Recording, pace = 0): Promise<ZooServer> {
  const unknown: string[] = [];
  let starts = 0;
  let scene: RecordedScene | undefined;
  let answered = new Map<string, number>();
  const server = await serve(({ httpMethod: method, path, text: body }, response) => {
    const operation = operationOf({ method, path, body });
    // A message to an existing task starts nothing.
    if (starting.includes(operation) && !body.includes('"taskId":')) {
      starts++;
      const scenes = isOverStream({ path, body }) ? (recording.overStream ?? {}) : recording.scenes;
      scene = Object.values(scenes).find(({ request }) => body.includes(markOf(request)));
      answered = new Map();
    }
    const exchange = nextOf(operation, [scene?.exchanges ?? [], recording.look], answered);
    if (exchange === undefined) {
      unknown.push(operation);
      response.writeHead(404).end();
      return;
    }
    // No answer came for as long as the client waited.
    if (exchange.reply === undefined) return;
    const { status, headers } = exchange.reply;
    const text = inPlace(exchange, body, recording.origin, `http://${new URL(server.url).host}`);
    const answer = (): void => {
      response.writeHead(status, headers).write(text);
      if (exchange.cut !== true) response.end();
    };
    if (pace > 0) void delay(exchange.ms * pace).then(answer);
    else answer();
  });
  const { origin } = new URL(server.url);
  return { origin, received: server.received, starts: () => starts, unknown };
}

/** Returns the text in the body of the start that belongs only to this scene. */
function markOf(request: RecordedScene['request']): string {
  switch (request.kind) {
    case 'tool':
      return `"name":${JSON.stringify(request.tool)}`;
    case 'skill':
      return JSON.stringify(request.skill);
    case 'message':
      return `"text":${JSON.stringify(request.parts[0]?.['text'])}`;
  }
}

function nextOf(
  operation: string,
  sources: readonly (readonly RecordedExchange[])[],
  answered: Map<string, number>,
): RecordedExchange | undefined {
  const [all = []] = sources
    .map((exchanges) => exchanges.filter(({ request }) => operationOf(request) === operation))
    .filter(({ length }) => length > 0);
  const count = answered.get(operation) ?? 0;
  answered.set(operation, count + 1);
  return all[Math.min(count, all.length - 1)];
}

function inPlace({ request, reply }: RecordedExchange, body: string, recordedOrigin: string, origin: string): string {
  const now = clientIds(body);
  const ids = clientIds(request.body).map((id, index) => [id, now[index] ?? ''] as const);
  return [...ids, [recordedOrigin, origin] as const].reduce(
    (text, [from, to]) => (from === '' || to === '' ? text : text.replaceAll(from, to)),
    reply?.body ?? '',
  );
}

import { defined } from '../../base/defined.js';
import { parseReplyJson } from '../../base/bounded-json.js';
import { cutUtf8, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteErrorTextBytes } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import { eventStream } from '../http/event-stream.js';
import { mediaTypeOf } from '../rpc/exchange.js';
import type { HttpHead } from '../http/http.js';
import { readRpcReply } from '../rpc/json-rpc.js';
import type { WatchEvent } from '../transport.js';
import { normalArtifact, normalStatus, normalTask } from './normal-form.js';
import { displayState } from './read-reply.js';
import { a2aStateClass } from './task-state.js';
import { textIn } from './text.js';

/**
 * Event stream of one task, fed piece by piece. Events of other tasks are dropped; a stream that breaks the protocol is
 * over. Events are for display only: a stream has neither numbers nor an end that can be trusted.
 */
export class TaskStream {
  readonly #handle: RemoteTaskHandle;
  readonly #rpcId: string | undefined;
  readonly #onEvent: (event: WatchEvent) => void;
  readonly #feed;
  /** Ids of the artifacts seen so far. */
  readonly #artifacts = new Set<JsonValue | undefined>();
  #isOver = false;

  /** Creates the reader. `rpcId`: id of the request, if each event is a JSON-RPC response. */
  constructor(handle: RemoteTaskHandle, rpcId: string | undefined, onEvent: (event: WatchEvent) => void) {
    this.#handle = handle;
    this.#rpcId = rpcId;
    this.#onEvent = onEvent;
    this.#feed = eventStream((data) => {
      if (!this.#isOver && data.trim() !== '') this.#isOver = !this.#take(data);
    });
  }

  /** Implements `HttpRequest.enough`: true once nothing more can be learned. */
  readonly push = (head: HttpHead, piece: string): boolean => {
    if (head.status !== 200 || mediaTypeOf(head) !== 'text/event-stream') return true;
    this.#feed(piece);
    return this.#isOver;
  };

  /** Returns false if the stream is of no further use. */
  #take(data: string): boolean {
    const item = this.#itemIn(data);
    if (item === undefined) return false;
    const { taskId } = this.#handle;
    switch (item.kind) {
      case 'task':
        return item.value['id'] !== taskId || this.#takeTask(normalTask(item.value));
      case 'status':
        return item.value['taskId'] !== taskId || this.#takeStatus(item.value['status']);
      case 'artifact':
        return item.value['taskId'] !== taskId || this.#takeArtifact(item.value);
      case 'message':
        return true;
    }
  }

  #itemIn(data: string): StreamItem | undefined {
    if (this.#rpcId !== undefined) {
      const reply = readRpcReply(data, this.#rpcId);
      return reply.kind === 'result' ? streamItem(reply.result) : undefined;
    }
    try {
      return streamItem(parseReplyJson(data).value);
    } catch {
      return undefined;
    }
  }

  #takeTask(task: JsonObject): boolean {
    const goesOn = this.#takeStatus(task['status']);
    this.#artifacts.clear();
    for (const artifact of artifactsIn(task)) {
      this.#artifacts.add(artifact['artifactId']);
      this.#onEvent({ kind: 'artifact', artifact, append: false, lastChunk: true });
    }
    return goesOn;
  }

  #takeStatus(came: JsonValue | undefined): boolean {
    const status = isJsonObject(came) ? normalStatus(came) : {};
    const note = textIn(status['message']);
    this.#onEvent({
      kind: 'status',
      state: displayState(status['state']),
      ...defined({ note: note === undefined ? undefined : cutUtf8(note, remoteErrorTextBytes) }),
    });
    return goesOnAfter(status['state']);
  }

  #takeArtifact({ artifact: came, append, lastChunk }: JsonObject): boolean {
    if (!isJsonObject(came)) return true;
    const artifact = normalArtifact(came);
    const { artifactId } = artifact;
    // Treats a chunk of an unknown artifact as its first.
    const isKnown = this.#artifacts.has(artifactId);
    this.#artifacts.add(artifactId);
    this.#onEvent({ kind: 'artifact', artifact, append: append === true && isKnown, lastChunk: lastChunk === true });
    return true;
  }
}

/**
 * Whether the stream goes on: interrupted states end some streams and not others (sections 3.1.6 and 11.7); only an end
 * ends ours.
 */
function goesOnAfter(state: JsonValue | undefined): boolean {
  switch (a2aStateClass(state)) {
    case 'active':
    case 'input_required':
    case 'auth_required':
      return true;
    case 'completed':
    case 'failed':
    case 'rejected':
    case 'canceled':
      return false;
  }
}

interface StreamItem {
  readonly kind: 'task' | 'message' | 'status' | 'artifact';
  readonly value: JsonObject;
}

const members = { task: 'task', message: 'message', statusUpdate: 'status', artifactUpdate: 'artifact' } as const;
const kinds = { task: 'task', message: 'message', 'status-update': 'status', 'artifact-update': 'artifact' } as const;

/**
 * Reads a StreamResponse of 1.0, which has exactly one member, or a bare event of 0.3. Returns undefined for anything
 * else.
 */
function streamItem(value: JsonValue): StreamItem | undefined {
  if (!isJsonObject(value)) return undefined;
  for (const [name, kind] of Object.entries(kinds)) if (value['kind'] === name) return { kind, value };
  const present = Object.entries(members).filter(([name]) => value[name] !== undefined);
  const [only] = present;
  if (only === undefined || present.length > 1) return undefined;
  const inner = value[only[0]];
  return isJsonObject(inner) ? { kind: only[1], value: inner } : undefined;
}

function artifactsIn({ artifacts }: JsonObject): readonly JsonObject[] {
  return Array.isArray(artifacts) ? (artifacts as readonly JsonValue[]).filter(isJsonObject) : [];
}

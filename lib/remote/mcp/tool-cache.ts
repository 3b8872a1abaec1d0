import { cutUtf8 } from '../../base/json.js';
import { sideRequestTimeoutMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { Answered, RemoteEndpoint, WireCall } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { violationError } from '../rpc/remote-error.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { StartReply } from '../transport.js';
import { unready, type JobStart, type Unready } from './dialect.js';
import { readToolPage, type ListedTool } from './tool-list.js';

/** How long a list of tools is believed of a server that gives it no age. */
const toolListAgeMs = 300_000;

/** Maximum number of pages of a tool list that are read. */
const toolListPagesMax = 20;

export interface ListedTools {
  readonly kind: 'listed';
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly freshUntilMs: EpochMs;
  /** Whether the server has more pages than are read. */
  readonly isCut: boolean;
}

type ListCall = (cursor?: string) => WireCall;
/** Whether the answer says that the session of the call is lost. */
type IsLost = (answered: Answered) => boolean;

/** Failure to list tools. `isLost`: the session of the call is gone. */
export type Unlisted = Unready & { readonly isLost?: boolean };

/** Tools of one server, as this process last saw them. */
export class ToolCache {
  readonly #endpoint: RemoteEndpoint;
  readonly #deps: Pick<TransportDeps, 'clock' | 'log'>;
  readonly #reading = new SingleFlight<ListedTools | Unlisted>();
  #listed: ListedTools | undefined;

  constructor(endpoint: RemoteEndpoint, deps: Pick<TransportDeps, 'clock' | 'log'>) {
    this.#endpoint = endpoint;
    this.#deps = deps;
  }

  /** Returns what is known without asking, however old. */
  find(tool: string): ListedTool | undefined {
    return this.#listed?.byName.get(tool);
  }

  async fresh(listCall: ListCall, untilMs: EpochMs, isLost?: IsLost): Promise<ListedTools | Unlisted> {
    const listed = this.#listed;
    return listed !== undefined && this.#deps.clock.nowMs() < listed.freshUntilMs
      ? listed
      : this.read(listCall, untilMs, isLost);
  }

  /**
   * Returns the reply to a start whose job needs tools that the server lacks, or undefined. A cached list that lacks
   * some is read again first; a server whose list cannot be read is assumed to have them.
   */
  async refusal(job: JobStart, listCall: ListCall, untilMs: EpochMs): Promise<StartReply | undefined> {
    const known = this.#listed;
    const listed = await this.fresh(listCall, untilMs);
    const missing = lacking(listed, job.tools);
    if (missing.length === 0) return undefined;
    const now = listed === known ? await this.read(listCall, untilMs) : listed;
    const gone = lacking(now, job.tools);
    return gone.length === 0 || now.kind !== 'listed' ? undefined : job.refuse(gone, [...now.byName.keys()].sort());
  }

  async read(listCall: ListCall, untilMs: EpochMs, isLost?: IsLost): Promise<ListedTools | Unlisted> {
    return this.#reading.run(async () => {
      const read = await this.#readPages(listCall, untilMs, isLost);
      if (read.kind === 'listed') this.#listed = read;
      return read;
    });
  }

  async #readPages(
    listCall: ListCall,
    untilMs: EpochMs,
    isLost: IsLost = () => false,
  ): Promise<ListedTools | Unlisted> {
    return this.#endpoint.converse<ListedTools | Unlisted>(
      'tools/list',
      async (send) => {
        const byName = new Map<string, ListedTool>();
        let cursor: string | undefined;
        let ageMs = toolListAgeMs;
        for (let page = 1; page <= toolListPagesMax; page++) {
          const answered = await send(listCall(cursor), { timeoutMs: sideRequestTimeoutMs });
          const { exchange } = answered;
          if (exchange.kind !== 'result') return { ...unready(exchange), isLost: isLost(answered) };
          const read = readToolPage(exchange.result);
          if (read === undefined)
            return {
              kind: 'unready',
              permanent: true,
              error: violationError('tools/list did not return a list of tools'),
            };
          for (const tool of read.tools) byName.set(tool.name, tool);
          ageMs = Math.min(ageMs, read.ttlMs ?? ageMs);
          cursor = read.nextCursor;
          if (cursor === undefined) break;
        }
        this.#warnOfExcluded(byName);
        return {
          kind: 'listed',
          byName,
          freshUntilMs: this.#deps.clock.nowMs() + ageMs,
          isCut: cursor !== undefined,
        };
      },
      untilMs,
    );
  }

  #warnOfExcluded(tools: ReadonlyMap<string, ListedTool>): void {
    for (const { name, headers } of tools.values()) {
      if (headers.kind === 'excluded')
        this.#deps.log.warn('remote tool excluded', {
          server: this.#endpoint.server,
          tool: cutUtf8(name, 128),
          problem: cutUtf8(headers.problem, 256),
        });
    }
  }
}

function lacking(listed: ListedTools | Unready, tools: readonly string[]): readonly string[] {
  return listed.kind === 'unready' || listed.isCut ? [] : tools.filter((tool) => !listed.byName.has(tool));
}

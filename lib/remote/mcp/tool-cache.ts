import { cutUtf8 } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { Answered, RemoteEndpoint } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { StartReply } from '../transport.js';
import type { JobStart, Unready } from './dialect.js';
import type { ListedTool } from './tool-list.js';
import { readToolPages, type ListCall } from './tool-pages.js';

/** How long a list of tools is cached if the server gives no lifetime. */
const toolListAgeMs = 300_000;

export interface ListedTools {
  readonly kind: 'listed';
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly freshUntilMs: EpochMs;
  /** Whether the server has more pages than are read. */
  readonly isCut: boolean;
}

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
        const read = await readToolPages(listCall, send);
        if (read.kind === 'unready') {
          const { answered, ...rest } = read;
          return { ...rest, isLost: isLost(answered) };
        }
        const byName = new Map(read.pages.flatMap(({ tools }) => tools).map((tool) => [tool.name, tool]));
        const ageMs = Math.min(toolListAgeMs, ...read.pages.map(({ ttlMs = toolListAgeMs }) => ttlMs));
        this.#warnOfExcluded(byName);
        return {
          kind: 'listed',
          byName,
          freshUntilMs: this.#deps.clock.nowMs() + ageMs,
          isCut: read.isCut,
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

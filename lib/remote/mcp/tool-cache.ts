import { cutUtf8 } from '../../base/json.js';
import { toolListAgeMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { Answered, RemoteEndpoint } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { StartReply } from '../transport.js';
import type { JobStart, Unready } from './dialect.js';
import type { ListedTool } from './tool-list.js';
import { readToolPages, type ListCall } from './tool-pages.js';

export interface ListedTools {
  readonly kind: 'listed';
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly freshUntilMs: EpochMs;
  /** The server has more pages than are read. */
  readonly isCut: boolean;
}

/** Whether the answer is about the session of the call. */
type IsLost = (answered: Answered) => boolean;

/** `isLost`: the session of the call is gone. */
export type Unlisted = Unready & { readonly isLost?: boolean };

/** The tools of one server, as this process saw them last. */
export class ToolCache {
  readonly #endpoint: RemoteEndpoint;
  readonly #deps: Pick<TransportDeps, 'clock' | 'log'>;
  readonly #reading = new SingleFlight<ListedTools | Unlisted>();
  #listed: ListedTools | undefined;

  constructor(endpoint: RemoteEndpoint, deps: Pick<TransportDeps, 'clock' | 'log'>) {
    this.#endpoint = endpoint;
    this.#deps = deps;
  }

  /** What is known without asking, however old. */
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
   * What becomes of a start that needs `tools`, if the server does not have them all. A list that says so is read anew
   * first; a server that cannot be asked for it is believed to have them.
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
        this.#deps.log.warn('remote_tool_excluded', {
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

import type { JsonValue } from '../../base/json.js';
import { sideRequestTimeoutMs } from '../../base/limits.js';
import type { Answered, Send, WireCall } from '../endpoint/endpoint.js';
import { violationError } from '../rpc/remote-error.js';
import { unready, type Unready } from './dialect.js';
import { readToolPage, type ToolPage } from './tool-list.js';

/** Maximum number of pages of a tool list that are read. */
const toolListPagesMax = 20;

export type ListCall = (cursor?: string) => WireCall;

export interface ToolPages {
  readonly kind: 'pages';
  readonly pages: readonly ToolPage[];
  /** The server has more pages than are read. */
  readonly isCut: boolean;
}

/**
 * Follows the pages of `tools/list`. Returns only what calls need of them, since together they may be large; `onPage`
 * receives each page whole. If a page does not arrive, returns the failure instead of the pages before it.
 */
export async function readToolPages(
  listCall: ListCall,
  send: Send,
  onPage: (result: JsonValue) => void = () => undefined,
): Promise<ToolPages | (Unready & { readonly answered: Answered })> {
  const pages: ToolPage[] = [];
  let cursor: string | undefined;
  do {
    const answered = await send(listCall(cursor), { timeoutMs: sideRequestTimeoutMs });
    const { exchange } = answered;
    if (exchange.kind !== 'result') return { ...unready(exchange), answered };
    const page = readToolPage(exchange.result);
    if (page === undefined)
      return {
        kind: 'unready',
        permanent: true,
        error: violationError('tools/list did not return a list of tools'),
        answered,
      };
    onPage(exchange.result);
    pages.push(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages.length < toolListPagesMax);
  return { kind: 'pages', pages, isCut: cursor !== undefined };
}

import type { JsonValue } from '../../base/json.js';
import { sideRequestTimeoutMs } from '../../base/limits.js';
import type { Answered, Send, WireCall } from '../endpoint/endpoint.js';
import { violationError } from '../rpc/remote-error.js';
import { unready, type Unready } from './dialect.js';
import { readToolPage, type ToolPage } from './tool-list.js';

/** Pages of a list of tools that are read. */
const toolListPagesMax = 20;

export type ListCall = (cursor?: string) => WireCall;

export interface ToolPages {
  readonly kind: 'pages';
  readonly pages: readonly ToolPage[];
  /** The server has more pages than are read. */
  readonly isCut: boolean;
}

/**
 * Follows the pages of `tools/list`. Gives what a call needs of them, since together they may be large; `onPage` is handed
 * each of them whole. A page that does not come is all that is given, with what came in its place.
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
      return { kind: 'unready', permanent: true, error: violationError('the list of tools is none'), answered };
    onPage(exchange.result);
    pages.push(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages.length < toolListPagesMax);
  return { kind: 'pages', pages, isCut: cursor !== undefined };
}

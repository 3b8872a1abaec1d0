import type { HistoryPage } from '../operations/views/page-history.js';
import type { HistoryView } from '../operations/views/read-history.js';
import type { ApiClient } from './api-client.js';

/** Reads all pages of the history of a run as one view. @throws ApiError */
export async function readWholeHistory(client: ApiClient, runId: string): Promise<HistoryView> {
  const { nextAfter: second, ...view } = await client.get<HistoryPage>(`/runs/${runId}/history`);
  const events = [...view.events];
  for (let after = second; after !== undefined;) {
    const page: HistoryPage = await client.get<HistoryPage>(`/runs/${runId}/history?after=${after}`);
    events.push(...page.events);
    // Only moves forward, whatever the server returns.
    after = page.nextAfter !== undefined && page.nextAfter > after ? page.nextAfter : undefined;
  }
  return { ...view, events };
}

import type { LifecycleEvent } from 'outwait';

export interface Tickets {
  /** Does nothing if a ticket with this id exists. */
  open(ticket: { readonly id: string; readonly title: string }): Promise<void>;
}

/** The target of a rule on the bus: opens a ticket for each run that fails. */
export function ticketHandler(tickets: Tickets) {
  return async ({ detail }: { readonly detail: LifecycleEvent }): Promise<void> => {
    if (detail.type !== 'RunFailed') return;
    // Events may be delivered more than once, each time with the same id.
    await tickets.open({ id: detail.eventId, title: `${detail.workflow} ${detail.runId} failed: ${detail.code}` });
  };
}

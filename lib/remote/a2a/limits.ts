// Tunings of the A2A client that several files share; tests read some.

/** Pages that one search of an agent's tasks reads, and again for those that are only submitted. */
export const taskListPagesMax = 4;
export const taskListPageSize = 25;
/** Time in a search, of 30 s in all, after which no further page is read. */
export const taskListMs = 15_000;
/** Time limit of one request for an agent card. */
export const agentCardTimeoutMs = 5_000;

// Tunings of the client of A2A that several of its files use; tests read some.

/** Pages of the tasks of an agent that one look goes through, and again of those that are only submitted. */
export const taskListPagesMax = 4;
export const taskListPageSize = 25;
/** No page is begun later than this in a look, which has 30 s in all. */
export const taskListMs = 15_000;
/** One request for an agent card. */
export const agentCardTimeoutMs = 5_000;

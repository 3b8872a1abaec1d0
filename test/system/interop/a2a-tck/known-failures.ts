/**
 * Requirements of the kit that local mode does not meet, each with the clause by which the kit is wrong. Clauses are of
 * A2A 1.0.1; the kit has the text of 1.0.0.
 */
export const knownFailures: Readonly<Record<string, string>> = {
  'CARD-STRUCT-001':
    'the kit asks for the card without A2A-Version, which means 0.3 (3.6.2), and refuses the members of 0.3 beside those of 1.0 (5.7: unknown fields should be ignored)',
  'DM-MSG-001': 'the kit wants a Message as the reply; an agent may answer each message with a Task (3.1.1)',
  'HTTP_JSON-SVC-001': 'results have the type application/a2a+json, which they should have since 1.0.1 (11.1)',
  'HTTP_JSON-STATUS-001': 'CONTENT_TYPE_NOT_SUPPORTED has the status 400 since 1.0.1 (5.4), 415 in 1.0.0',
  'CORE-HIST-005': 'the kit sends two different messages of one task with one messageId, which must be unique (4.1.4)',
  'CORE-HIST-006': 'the same messageId as in CORE-HIST-005',
};

/**
 * Limit of a request to an authorization server, or for its metadata: a start of 30 s must have time left for itself.
 */
export const oauthRequestTimeoutMs = 8_000;

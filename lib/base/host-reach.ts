/**
 * Returns from where a host can be reached, as far as its name says. `hostname`: as in a URL, which writes an IP address
 * in one form. A name of a private network that looks like any other counts as public.
 */
export function hostReach(hostname: string): 'loopback' | 'private' | 'public' {
  if (/^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(hostname))
    return 'loopback';
  return privateHosts.some((pattern) => pattern.test(hostname)) ? 'private' : 'public';
}

/** Whether a host is this machine by its usual name or an address, as in a URL; other names for it are not known here. */
export function isLocalhost(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

const privateHosts: readonly RegExp[] = [
  // Names without a dot, and those that the public name system does not have.
  /^[a-z0-9-]+$/,
  /\.(local|internal|lan|home\.arpa)$/,
  /^(0|10)(\.\d+){3}$/,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}$/,
  /^169\.254(\.\d+){2}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^192\.168(\.\d+){2}$/,
  // Unique local, link-local, unspecified and IPv4-mapped.
  /^\[(f[cd]|fe[89ab]|::(ffff:[0-9a-f:]+)?\])/,
];

import app from '../../../../examples/outwait.config.js';

/** The app of the demo, whose servers are on this machine. A deployment calls none there unless it is told to. */
const servers = Object.fromEntries(
  Object.entries(app.servers).map(([name, server]) => [name, { ...server, allowPrivateAddresses: true }]),
);

export default { ...app, servers };

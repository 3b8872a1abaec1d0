import app from '../../../../examples/outwait.config.js';

/** The app of the demo, with its servers on this machine. A deployment calls none there unless it is allowed to. */
const servers = Object.fromEntries(
  Object.entries(app.servers).map(([name, server]) => [name, { ...server, allowPrivateAddresses: true }]),
);

export default { ...app, servers };

import type { Server } from 'node:http';

/** Stops listening, cuts open connections, and returns when the server is closed. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

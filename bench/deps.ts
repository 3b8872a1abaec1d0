import { system } from '../lib/process/system.js';
import { silentLog } from '../lib/base/log.js';
import type { Deps } from '../lib/operations/deps.js';
import { TokenKeys } from '../lib/tokens/token-keys.js';
import { defineApp, mcpServer } from '../lib/workflow/app.js';
import type { AnyWorkflow } from '../lib/workflow/define-workflow.js';

/**
 * Returns the dependencies of the operations with this process as their environment and without a log. The missing
 * parts differ between measurements.
 */
export function benchDeps(workflow: AnyWorkflow): Omit<Deps, 'store' | 'queues' | 'transports'> {
  return {
    ...system,
    app: defineApp({
      workflows: [workflow],
      servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
    }),
    tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
    log: silentLog,
  };
}

import type { Table } from '../table.js';
import { CallerPermits } from './caller-permits.js';
import { NamedKeys } from './named-keys.js';
import { TenantPermits } from './tenant-permits.js';

/** What is stored about callers beside their runs. `run-store.ts` loads it when it is first needed. */
export class CallerParts {
  /** Their credentials. */
  readonly keys: NamedKeys;
  /** What their tenants ask for. */
  readonly permits: TenantPermits;
  /** Their messages to served workflows. */
  readonly messages: CallerPermits;

  constructor(table: Table) {
    this.keys = new NamedKeys(table);
    this.permits = new TenantPermits(table);
    this.messages = new CallerPermits(table);
  }
}

// npm run cost: prints the tables of docs/cost.md, computed from requests counted now and from prices.ts. npm run cost
// -- --write: writes them into docs/cost.md.

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { openDatabase } from '../stores.js';
import { countUsage } from './counted.js';
import { withTables } from './document.js';
import { formatCost } from './report.js';

process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const file = new URL('../../docs/cost.md', import.meta.url);
const database = await openDatabase();
try {
  const tables = formatCost(await countUsage(database));
  if (values.write) await writeFile(file, withTables(await readFile(file, 'utf8'), tables));
  else console.log(tables);
} finally {
  await database.close();
}

/** The kit's report `compatibility.json`, as far as it is read. */
export interface Report {
  readonly per_requirement: Readonly<Record<string, Requirement>>;
}

interface Requirement {
  readonly level: Level;
  readonly status: 'PASS' | 'FAIL' | 'SKIPPED' | 'NOT TESTED';
  /** What came out last over each transport. */
  readonly transports: Readonly<Record<string, 'PASS' | 'FAIL' | 'SKIPPED'>>;
  readonly errors: readonly string[];
}

const levels = ['MUST', 'SHOULD', 'MAY'] as const;
type Level = (typeof levels)[number];

/** Requirements of one category and level, by what came out over all transports. */
export interface Category {
  readonly name: string;
  readonly level: Level;
  passed: number;
  failed: number;
  /** Neither passed nor failed over any transport, gRPC aside. */
  skipped: number;
  /** Named by the kit without a test. */
  untested: number;
}

/** Counts the requirements by the first word of their ids, and their level. */
export function categoriesOf({ per_requirement: requirements }: Report): readonly Category[] {
  const categories = new Map<string, Category>();
  for (const [id, { level, status }] of Object.entries(requirements)) {
    const [name = id] = id.split('-');
    const key = `${name} ${level}`;
    const category = categories.get(key) ?? { name, level, passed: 0, failed: 0, skipped: 0, untested: 0 };
    categories.set(key, category);
    if (status === 'PASS') category.passed++;
    else if (status === 'FAIL') category.failed++;
    else if (status === 'SKIPPED') category.skipped++;
    else category.untested++;
  }
  return [...categories.values()].sort(
    (a, b) => levels.indexOf(a.level) - levels.indexOf(b.level) || a.name.localeCompare(b.name),
  );
}

/** Returns a table of the categories, with a sum for each level. */
export function table(categories: readonly Category[]): string {
  const sums = levels.map((level) => sumOf(level, categories));
  const rows = [...categories, ...sums].map(({ name, level, passed, failed, skipped, untested }) =>
    [name.padEnd(10), level.padEnd(6), ...[passed, failed, skipped, untested].map((n) => String(n).padStart(10))].join(
      ' ',
    ),
  );
  const head = ['passed', 'failed', 'skipped', 'untested'].map((word) => word.padStart(10)).join(' ');
  return [`${'category'.padEnd(10)} ${'level'.padEnd(6)} ${head}`, ...rows].join('\n');
}

function sumOf(level: Level, categories: readonly Category[]): Category {
  const sum: Category = { name: 'all', level, passed: 0, failed: 0, skipped: 0, untested: 0 };
  for (const category of categories.filter((one) => one.level === level)) {
    sum.passed += category.passed;
    sum.failed += category.failed;
    sum.skipped += category.skipped;
    sum.untested += category.untested;
  }
  return sum;
}

export interface Failure {
  readonly id: string;
  readonly level: Level;
  readonly transports: string;
  readonly errors: readonly string[];
}

/** Returns the requirements that failed, and over what they were tried: the kit does not tell which of it failed. */
export function failuresOf({ per_requirement: requirements }: Report): readonly Failure[] {
  return Object.entries(requirements).flatMap(([id, { level, status, transports, errors }]) => {
    if (status !== 'FAIL') return [];
    const over = Object.keys(transports).filter((transport) => transport !== 'grpc');
    return [{ id, level, transports: over.join(' and '), errors: [...new Set(errors)] }];
  });
}

/** Returns a report with what another one has of the requirements that were skipped in it. */
export function merged({ per_requirement: requirements }: Report, { per_requirement: others }: Report): Report {
  const all = Object.entries(requirements).map(([id, requirement]) => {
    const other = others[id];
    const isTested = other?.status === 'PASS' || other?.status === 'FAIL';
    return [id, requirement.status === 'SKIPPED' && isTested ? other : requirement] as const;
  });
  return { per_requirement: Object.fromEntries(all) };
}

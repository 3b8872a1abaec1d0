/** Returns why a changelog is not that of a release of `version`, or undefined if it is. */
export function changelogProblem(changelog: string, version: string): string | undefined {
  const heading = changelog.split('\n').find((line) => line.startsWith(`## [${version}]`));
  if (heading === undefined) return `CHANGELOG.md has no "## [${version}]"`;
  if (!/\] - \d{4}-\d{2}-\d{2}$/.test(heading.trimEnd()))
    return `CHANGELOG.md has no date of it: expected "## [${version}] - YYYY-MM-DD"`;
  return undefined;
}

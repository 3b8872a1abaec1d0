import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { propertyOf } from '../base/errors.js';

/** A place in a bundle: `file:///var/task/index.mjs:1:2345`. */
const bundledPlace = /(?:file:\/\/)?(\/[^\s():]+\.mjs):(\d+):(\d+)/g;

/** By file; undefined if it has no map beside it. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * Returns a stack, or any text, whose places in bundles are those of the sources: `report.ts:12:7`. The map of a bundle is
 * read with the first stack that names it, never before. Never throws.
 */
export function mappedStack(stack: string): string {
  return stack.replaceAll(bundledPlace, (place: string, file: string, line: string, column: string) => {
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    return entry === undefined || !('originalSource' in entry)
      ? place
      : `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

/** Returns where an error was thrown: the first place of its stack that is neither in Node nor in a package. Never throws. */
export function placeOf(thrown: unknown): string | undefined {
  const stack = propertyOf(thrown, 'stack');
  return typeof stack === 'string' ? placesIn(stack).find((place) => !/^node:|node_modules\//.test(place)) : undefined;
}

/** Returns the places of a stack, in its order. */
export function placesIn(stack: string): readonly string[] {
  return mappedStack(stack)
    .split('\n')
    .flatMap((line) => /^\s+at (?:.*\()?([^()\s]+:\d+:\d+)\)?$/.exec(line)?.[1] ?? [])
    .map((place) => place.replace(/^file:\/\//, ''));
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    // A bundle without a map, or one that cannot be read: the places stay as they are.
    return undefined;
  }
}

import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly platform: string;
  /** Mean number of runnable processes in the minute before; above `cores` the times say little. */
  readonly loadBefore: number;
}

export interface Versions {
  readonly outwait: string;
  readonly node: string;
  readonly awsSdk: string;
  readonly dynoxide?: string;
}

interface Package {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

export function readMachine(): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    loadBefore: loadavg()[0] ?? 0,
  };
}

/** Version of `dynoxide`, as in `dynoxide 1.2.1`, if it is used. */
export function readVersions(dynoxide: string | undefined): Versions {
  const { version, dependencies } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as Package;
  return {
    outwait: version,
    node: process.versions.node,
    awsSdk: dependencies['@aws-sdk/client-dynamodb'] ?? 'unknown',
    ...(dynoxide === undefined ? {} : { dynoxide: dynoxide.replace(/^dynoxide /, '') }),
  };
}

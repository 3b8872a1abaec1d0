import { readFileSync } from 'node:fs';

/** Ticks a second of the processor times in /proc, on all platforms of Linux. */
const ticksPerSecond = 100;

/** Returns the peak of the resident memory of a process; undefined if the system does not report it. */
export function peakMiB(pid: number): number | undefined {
  const kB = /^VmHWM:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1];
  return kB === undefined ? undefined : Math.round(Number(kB) / 1_024);
}

/** Returns the processor time that a process has used; undefined if the system does not report it. */
export function processorMs(pid: number): number | undefined {
  const stat = read(pid, 'stat');
  // The second field is a name in parentheses, which may hold spaces; user and system time are the 14th and 15th.
  const [user, system] =
    stat
      ?.slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13) ?? [];
  return user === undefined || system === undefined
    ? undefined
    : ((Number(user) + Number(system)) * 1_000) / ticksPerSecond;
}

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

import { readdirSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';

/** A process, distinguished from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process as the system reports it; empty if it does not. */
  readonly start: string;
}

/** Returns the process with this pid, if there is one. */
export function processOf(pid: number): ProcessIdentity | undefined {
  return isAlive(pid) ? { pid, start: startOf(pid) } : undefined;
}

/** Returns true while exactly this process runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return processOf(identity.pid)?.start === identity.start;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return statOf(pid)?.state !== 'Z';
}

function startOf(pid: number): string {
  const stat = statOf(pid);
  if (stat !== undefined) return `${bootId()}/${stat.startTicks}`;
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

/** Reads fields 3 and 22 of /proc/<pid>/stat (Linux). Field 2, the name in brackets, may contain anything. */
function statOf(pid: number): { readonly state: string; readonly startTicks: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

/** Returns the id of the current boot: start times count from the boot and are ambiguous without it. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** Returns true if the process was started as `binary` with `argument` as one of its arguments. */
export function isProcessOf(pid: number, binary: string, argument: string): boolean {
  const args = argumentsOf(pid);
  if (args !== undefined) return args[0] === binary && args.includes(argument);
  const line = `${argumentLineOf(pid)} `;
  return line.startsWith(`${binary} `) && line.includes(` ${argument} `);
}

function argumentsOf(pid: number | string): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // The process has ended, belongs to another user, or there is no /proc.
    return undefined;
  }
}

function argumentLineOf(pid: number): string {
  try {
    return execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

/** Returns the pids of the processes that were started with `argument` as one of their arguments. */
export function processesWithArgument(argument: string): number[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return listedWithArgument(argument);
  }
  return names.filter((name) => /^\d+$/.test(name) && (argumentsOf(name)?.includes(argument) ?? false)).map(Number);
}

/** Returns these pids on systems without /proc. */
function listedWithArgument(argument: string): number[] {
  try {
    const lines = execFileSync('ps', ['-axww', '-o', 'pid=,args='], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).split('\n');
    return lines.filter((line) => `${line} `.includes(` ${argument} `)).map((line) => Number.parseInt(line, 10));
  } catch {
    return [];
  }
}

import { vi } from 'vitest';
import { main } from '../../../lib/cli.js';

export interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const exitCode = (): NodeJS.Process['exitCode'] => process.exitCode;

/** Runs the command line in this process. */
export async function run(...args: readonly string[]): Promise<Result> {
  const out: string[] = [];
  const err: string[] = [];
  const restore = [
    vi.spyOn(console, 'log').mockImplementation((text: string) => void out.push(`${text}\n`)),
    vi.spyOn(console, 'error').mockImplementation((text: string) => void err.push(`${text}\n`)),
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean(out.push(String(text)))),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(err.push(String(text)))),
  ];
  const before = exitCode();
  process.exitCode = undefined;
  try {
    await main(['node', 'outwait', ...args]);
    return { code: Number(exitCode() ?? 0), out: out.join(''), err: err.join('') };
  } finally {
    process.exitCode = before;
    for (const spy of restore) spy.mockRestore();
  }
}

import { styleText } from 'node:util';

export interface Row {
  readonly name: string;
  readonly state: string;
  /** Instant at which the row entered this state; a terminal shows the time since then. */
  readonly sinceMs: number | undefined;
}

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * A table that is redrawn in place on a terminal, and one line per change anywhere else. Messages are printed above the
 * table.
 */
export class LiveView {
  readonly #output: Output;
  readonly #nowMs: () => number;
  #rows: readonly Row[] = [];
  #drawnLines = 0;

  constructor(output: Output, nowMs: () => number) {
    this.#output = output;
    this.#nowMs = nowMs;
  }

  say(text: string): void {
    this.#erase();
    this.#output.write(`${text}\n`);
    this.#draw();
  }

  show(rows: readonly Row[]): void {
    const before = this.#rows;
    this.#rows = rows;
    if (this.#output.isTTY === true) {
      this.#erase();
      this.#draw();
      return;
    }
    for (const { name, state } of rows) {
      if (before.find((row) => row.name === name)?.state !== state) this.#output.write(`    ${name}: ${state}\n`);
    }
  }

  /** Leaves the table where it is; later messages are printed below it. */
  freeze(): void {
    this.#drawnLines = 0;
    this.#rows = [];
  }

  #erase(): void {
    // Moves to the first line of the table, then clears to the end of the screen.
    if (this.#drawnLines > 0) this.#output.write(`\u001b[${this.#drawnLines}A\u001b[0J`);
    this.#drawnLines = 0;
  }

  #draw(): void {
    if (this.#output.isTTY !== true || this.#rows.length === 0) return;
    const width = Math.max(...this.#rows.map((row) => row.name.length));
    for (const { name, state, sinceMs } of this.#rows) {
      const seconds = sinceMs === undefined ? '' : `${Math.max(0, Math.floor((this.#nowMs() - sinceMs) / 1000))} s`;
      this.#output.write(`    ${styleText('bold', name.padEnd(width))}  ${state.padEnd(44)} ${seconds}\n`);
    }
    this.#drawnLines = this.#rows.length;
  }
}

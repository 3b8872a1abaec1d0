export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** Ends the command with a message, or with JSON if that was requested. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly asJson: object | undefined;

  constructor(message: string, exitCode: number, asJson?: object) {
    super(message);
    this.exitCode = exitCode;
    this.asJson = asJson;
  }
}

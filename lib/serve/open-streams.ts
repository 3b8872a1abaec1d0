/** Admits one more stream to a client, unless as many are open as there may be. */
export type OpenStream = (stream: {
  /** Aborts when the stream ends, for whatever reason. */
  readonly signal: AbortSignal;
  /** Ends the stream: its place was lost, or can no longer be kept. */
  readonly end: () => void;
}) => Promise<OpenedStream | undefined>;

export interface OpenedStream {
  /** Gives the place to another stream. Never throws. */
  leave(): Promise<void>;
}

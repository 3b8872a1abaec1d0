import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../../lib/workflow/app.js';
import type { Recording } from './recording.js';
import { serveRecording, type ZooServer } from './serve-recording.js';

/** The end of a scene as a caller sees it. */
export type SceneEnd =
  | { readonly kind: 'completed'; readonly text: string; readonly isError?: true }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The task never ends. */
  | { readonly kind: 'working' }
  /** The start is answered only at the end of the work, which takes longer than a request may. */
  | { readonly kind: 'silent' };

/** A foreign server of which there is a recording. */
export interface ZooAnimal {
  /** Name, also of the recording. */
  readonly name: string;
  /** Title in the table of docs/reference.md. */
  readonly title: string;
  readonly version: string;
  readonly recordedOn: string;
  /** Returns the required configuration, without any optional setting. */
  readonly entry: (origin: string) => ServerConfig;
  /** Options that help, as `outwait try` prints them and the table of docs/reference.md names them. */
  readonly options: readonly string[];
  /** Ends by scene, after a plain start. */
  readonly ends: Readonly<Record<string, SceneEnd>>;
  /** Ends of the scenes that end differently after a start over a stream. */
  readonly endsOverStream?: Readonly<Record<string, SceneEnd>>;
}

export function recordingOf({ name }: Pick<ZooAnimal, 'name'>): Recording {
  const file = fileURLToPath(new URL(`recordings/${name}.json`, import.meta.url));
  return JSON.parse(readFileSync(file, 'utf8')) as Recording;
}

export async function serveAnimal(animal: ZooAnimal): Promise<ZooServer> {
  return serveRecording(recordingOf(animal));
}

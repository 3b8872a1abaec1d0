import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../../lib/workflow/app.js';
import type { Recording } from './recording.js';
import { serveRecording, type ZooServer } from './serve-recording.js';

/** How a scene ends for a caller. */
export type SceneEnd =
  | { readonly kind: 'completed'; readonly text: string; readonly isError?: true }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The task never ends. */
  | { readonly kind: 'working' }
  /** The start is answered only at the end of the work, which is longer than a request may take. */
  | { readonly kind: 'silent' };

/** A foreign server, of which we have a recording. */
export interface ZooAnimal {
  /** Also that of the recording. */
  readonly name: string;
  /** In the table of docs/reference.md. */
  readonly title: string;
  readonly version: string;
  readonly recordedOn: string;
  /** What a configuration has to say of it, without any option that is not needed. */
  readonly entry: (origin: string) => ServerConfig;
  /** Options that help, as `outwait try` says and the table of docs/reference.md names them. */
  readonly options: readonly string[];
  /** By scene, after a plain start. */
  readonly ends: Readonly<Record<string, SceneEnd>>;
  /** Of scenes that end otherwise after a start over a stream. */
  readonly endsOverStream?: Readonly<Record<string, SceneEnd>>;
}

export function recordingOf({ name }: Pick<ZooAnimal, 'name'>): Recording {
  const file = fileURLToPath(new URL(`recordings/${name}.json`, import.meta.url));
  return JSON.parse(readFileSync(file, 'utf8')) as Recording;
}

export async function serveAnimal(animal: ZooAnimal): Promise<ZooServer> {
  return serveRecording(recordingOf(animal));
}

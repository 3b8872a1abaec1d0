import { afterEach, describe, expect, it } from 'vitest';
import type { RemoteEnd } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/transports.js';
import { textOf } from '../../../lib/workflow/outcome.js';
import { closeAll, httpClient, transportDeps } from '../../remote/loopback.js';
import { recordingOf, serveAnimal, type SceneEnd } from './animal.js';
import { play, type Played } from './play.js';
import { zoo } from './zoo.js';

afterEach(closeAll);

const scenes = zoo.flatMap((animal) =>
  Object.entries(recordingOf(animal).scenes).map(([name, scene]) => ({ animal, name, scene, title: animal.name })),
);

describe('servers of others, as they were recorded', () => {
  it.each(zoo)('the recording of $name is of the version that is named', (animal) => {
    const { server, version, recordedOn, scenes: recorded } = recordingOf(animal);
    expect({ server, version, recordedOn }).toEqual({
      server: animal.name,
      version: animal.version,
      recordedOn: animal.recordedOn,
    });
    expect(Object.keys(recorded).sort()).toEqual(Object.keys(animal.ends).sort());
  });

  it.each(scenes)(
    'F60-F66, F70, F72: $title: $name ends as it should, with one start',
    async ({ animal, name, scene }) => {
      const server = await serveAnimal(animal);
      const http = httpClient(animal.ends[name]?.kind === 'silent' ? { limits: { headersMs: 50 } } : {});
      const transport = createTransports({ zoo: animal.entry(server.origin) }, transportDeps(http)).get('zoo');
      const played = await play(transport, scene.request, { cancels: scene.cancels ?? false, readsMax: 12 });
      expect(endOf(played)).toEqual(animal.ends[name]);
      expect(server.starts()).toBe(1);
      expect(server.unknown).toEqual([]);
    },
  );
});

/** What a caller makes of it. A start of unknown fate is a `silent` one. */
function endOf({ start, reads }: Played): SceneEnd | string {
  const last = reads.at(-1);
  if (last?.kind === 'ended') return said(last.end);
  if (last !== undefined) return last.kind === 'working' ? { kind: 'working' } : last.error.message;
  if (start.kind === 'ended') return said(start.end);
  if (start.kind === 'unknown') return { kind: 'silent' };
  if (start.kind !== 'refused') return start.kind;
  return { kind: 'refused', reason: start.error.message.replace(/^the server answered with error -?\d+: /, '') };
}

function said(end: RemoteEnd): SceneEnd {
  if (end.kind === 'completed')
    return { kind: 'completed', text: textOf({ ...end, server: 'zoo' }), ...(end.isError ? { isError: true } : {}) };
  const { code, message } = end.error;
  if (code === 'REMOTE_TASK_CANCELLED') return { kind: 'cancelled' };
  return { kind: 'failed', reason: message.replace(/^remote task failed: /, '') };
}

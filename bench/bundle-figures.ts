import { functions } from '../lib/topology/topology.js';
import { figure, type Aim, type Figure } from './figure.js';
import { measureBundle } from './measure-bundles.js';

const KB = 1_000;

/** Measures the bundles that would be deployed, in bytes. */
export async function bundleFigures(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const name of Object.keys(functions)) {
    const size = await measureBundle(name);
    const withServer: Aim | undefined = name === 'poll' ? { atMost: 950 * KB } : undefined;
    figures.push(
      figure(`bundle.${name}.at-once`, size.atOnceBytes, 'bytes', { atMost: 450 * KB }),
      figure(`bundle.${name}.with-server`, size.withServerBytes, 'bytes', withServer),
      figure(`bundle.${name}.busy`, size.busyBytes, 'bytes'),
      figure(`bundle.${name}.all`, size.allBytes, 'bytes'),
    );
    if (name === 'poll')
      figures.push(figure('bundle.poll.protocols', size.protocolBytes, 'bytes', { atMost: 80 * KB }));
  }
  return figures;
}

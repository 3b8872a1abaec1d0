import { it } from 'vitest';
import { silentLog } from '../../../../lib/base/log.js';

it('writes nothing that must not be written', () => {
  silentLog.warn('planted', { runId: '0'.repeat(32), server: 'reports' });
});

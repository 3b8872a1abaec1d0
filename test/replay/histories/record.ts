import { createTestApp, type HistoryView } from 'outwait/testing';
import { appOf, type Recording, serversOf } from './workflows.js';

/**
 * Runs a recording on the test kit, whose clock and randomness are the same each time, and returns its histories by
 * name.
 */
export async function record(name: string, recording: Recording): Promise<Readonly<Record<string, HistoryView>>> {
  const workflows = recording.recordedWith ?? recording.workflows;
  const [first] = workflows;
  if (first === undefined) throw new Error(`${name} has no workflow`);
  const app = createTestApp(appOf(workflows), { servers: serversOf(recording) });
  const runId = await app.start(first);
  await recording.drive(app, runId);
  const others = Object.entries((await recording.others?.(app, runId)) ?? {});
  const histories: Record<string, HistoryView> = { [name]: await app.history(runId) };
  for (const [other, otherId] of others) histories[other] = await app.history(otherId);
  return histories;
}

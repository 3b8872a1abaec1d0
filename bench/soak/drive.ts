import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from './client.js';
import { type PlannedRun, senders, sentBeforePause, signalsOf } from './plan.js';
import type { Ledger } from './remotes.js';

/** Progress of the driver so far. */
export interface Done {
  starts: number;
  signals: number;
  pauses: number;
  cancels: number;
}

export interface DrivenRun {
  readonly planned: PlannedRun;
  readonly runId: string;
}

/** Does what is planned for one run; does not wait for its end. */
export async function drive(planned: PlannedRun, client: Client, ledger: Ledger, done: Done): Promise<DrivenRun> {
  const { name, workflow, input } = planned;
  const runId = await client.start(workflow, name, input);
  done.starts++;
  if (planned.workflow === 'inbox') await signalAll(planned, runId, client, done);
  if (planned.workflow === 'family' && 'cancelled' in planned) {
    await Promise.all(planned.memberNames.map((of) => ledger.whenBooked(of, 'member')));
    await cancel();
  }
  if (planned.workflow === 'booking' && 'cancelled' in planned) {
    if (planned.afterMs === undefined) await ledger.whenBooked(name, 'hotel');
    else await delay(planned.afterMs);
    await cancel();
  }
  return { planned, runId };

  async function cancel(): Promise<void> {
    await client.cancel(runId, name);
    done.cancels++;
  }
}

/** Sends the next signal of each sender when the one before was accepted; senders do not wait for each other. */
async function signalAll(
  planned: PlannedRun & { readonly workflow: 'inbox' },
  runId: string,
  client: Client,
  done: Done,
): Promise<void> {
  const all = senders.map((sender) => signalsOf(planned, sender));
  const send = async (of: (typeof all)[number]): Promise<void> => {
    for (const { name, key, payload } of of) {
      await client.signal(runId, name, key, payload);
      done.signals++;
    }
  };
  if (planned.pauseMs === undefined) {
    // Signals that are never read go first, because the last signal that is read ends the run.
    await Promise.all(all.map((of) => send(of.filter(({ name }) => name === 'extra'))));
    await Promise.all(all.map((of) => send(of.filter(({ name }) => name === 'line'))));
    return;
  }
  await Promise.all(all.map((of) => send(of.slice(0, sentBeforePause))));
  await client.pause(runId);
  done.pauses++;
  await Promise.all(all.map((of) => send(of.slice(sentBeforePause))));
  await delay(planned.pauseMs);
  await client.resume(runId);
}

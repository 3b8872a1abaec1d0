import { randomUUID } from 'node:crypto';
import type { ScheduledEvent } from 'aws-lambda';
import type { Log } from '../base/log.js';
import { schedule } from '../topology/topology.js';

/** Fires now and once a minute, like the EventBridge rule. Returns a function that stops the timer. */
export function startSchedule(invoke: (event: ScheduledEvent) => Promise<void>, log: Log): () => void {
  const fire = (): void => {
    invoke(scheduledEvent()).catch((error: unknown) => {
      log.error('sweep failed', { error });
    });
  };
  const timer = setInterval(fire, schedule.everyMs);
  fire();
  return () => {
    clearInterval(timer);
  };
}

function scheduledEvent(): ScheduledEvent {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: '000000000000',
    time: new Date().toISOString(),
    region: 'local',
    resources: ['arn:aws:events:local:000000000000:rule/outwait'],
    detail: {},
  };
}

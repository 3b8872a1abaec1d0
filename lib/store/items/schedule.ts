import type { ScheduleState } from '../../history/records.js';
import type { Item } from '../table.js';
import { fields, group, named, number, optional, orElse, text } from './fields.js';
import { scheduleKey } from './keys.js';

const starting = fields<NonNullable<ScheduleState['starting']>>({
  tickAtMs: named('startingTickAtMs', number),
  sinceMs: named('startingSinceMs', number),
});

const scheduleFields = fields<ScheduleState>({
  revision: orElse(number, 0),
  fromMs: optional(number),
  tickAtMs: optional(number),
  runId: optional(text),
  starting: optional(group(starting)),
  waitingTickAtMs: optional(number),
  pausedAtMs: optional(number),
  pausedBy: optional(text),
});

export const scheduleItem = (name: string, state: ScheduleState): Item => ({
  ...scheduleKey(name),
  ...scheduleFields.write(state),
});

export const toSchedule = (item: Item): ScheduleState => scheduleFields.read(item);

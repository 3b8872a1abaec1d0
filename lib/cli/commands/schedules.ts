import type { Command } from 'commander';
import type { ScheduleView } from '../../operations/schedules/schedule-view.js';
import { ApiClient } from '../api-client.js';
import { nameArgument } from '../arguments.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatSchedule, formatSchedules } from '../format.js';
import { print } from '../output.js';

export function addScheduleCommands(program: Command): void {
  const schedules = program.command('schedules').description('manage the schedules of the configuration');
  common(schedules.command('list')).description('list the schedules with their state').action(list);
  for (const [kind, description] of [
    ['pause', 'pause a schedule: it starts nothing until it is resumed'],
    ['resume', 'continue a schedule with its next tick'],
  ] as const) {
    common(schedules.command(kind))
      .description(description)
      .argument('<name>', 'name of the schedule', nameArgument)
      .action((name: string, flags: CommonFlags) => control(name, kind, flags));
  }
}

async function list(flags: CommonFlags): Promise<void> {
  const answer = await new ApiClient(flags).get<{ readonly schedules: readonly ScheduleView[] }>('/schedules');
  print(flags, answer, (screen) => formatSchedules(answer.schedules, screen));
}

async function control(name: string, kind: 'pause' | 'resume', flags: CommonFlags): Promise<void> {
  const path = `/schedules/${encodeURIComponent(name)}/${kind}`;
  const schedule = await new ApiClient(flags).post<ScheduleView>(path, {});
  print(flags, schedule, (screen) => formatSchedule(schedule, screen));
}

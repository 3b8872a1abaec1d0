import { figure, type Figure } from './figure.js';
import { type Pushed, type PushLoad, pushLoad } from './pushes/push-load.js';
import { percentile } from './statistics.js';

/** Pushes of the measurement: 200 a second for a minute, ten of each task. */
const minute: PushLoad = { tasks: 1_200, pushesOfTask: 10, perSecond: 200 };

/** Measures pushes against local mode: `npm run bench -- --only pushes`. Takes two minutes. */
export async function pushFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('200 pushes a second for a minute');
  const { tasks, pushesOfTask } = minute;
  const pushed = await pushLoad(minute);
  const { answers, settlements, right, readsOfEnded, tookMs } = pushed;
  return [
    figure('pushes.accepted', answers['202'] ?? 0, 'pushes', { atLeast: tasks * pushesOfTask }),
    figure('pushes.took', tookMs / 1_000, 's'),
    figure('pushes.settledOnce', settlements[1] ?? 0, 'waits', { atLeast: tasks }),
    figure('pushes.rightResults', right, 'runs', { atLeast: tasks }),
    figure('pushes.readsOfEnded', readsOfEnded / tasks, 'reads'),
    ...latencies('pushes.answer', pushed.answeredMs),
    ...latencies('pushes.settled', pushed.settledMs),
  ];
}

function latencies(name: string, valuesMs: Pushed['answeredMs']): readonly Figure[] {
  return [
    ...([50, 90, 99] as const).map((rank) => figure(`${name}.p${rank}`, percentile(valuesMs, rank / 100), 'ms')),
    figure(`${name}.max`, percentile(valuesMs, 1), 'ms'),
  ];
}

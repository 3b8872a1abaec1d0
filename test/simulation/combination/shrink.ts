import { printAgent, smallerAgent } from './agent.js';
import { printEntry } from './print-entry.js';
import { printLimits, smallerLimits } from './limits.js';
import { print } from './print-program.js';
import type { Flow } from './program.js';
import { runCase, type Ran } from './simulate-case.js';
import { smaller } from './smaller-program.js';
import type { Case } from './timetable.js';

export interface Shrunk {
  readonly case: Case;
  readonly detail: string;
  /** Number of cases that were tried. */
  readonly tried: number;
}

/** Reduces a case while it breaks the same promise, until the time budget is used up. */
export async function shrink(given: Case, kind: string, budgetMs = 20_000): Promise<Shrunk> {
  const endMs = performance.now() + budgetMs;
  let tried = 0;
  let detail = '';
  const breaks = async (one: Case): Promise<Ran | undefined> => {
    if (performance.now() > endMs) return undefined;
    tried++;
    const ran = await runCase(one);
    return ran.violations.has(kind) ? ran : undefined;
  };
  let best = given;
  const first = await runCase(given);
  detail = first.violations.get(kind) ?? '';
  // Lists faults by operation, so that they stay in place when the rest shrinks.
  const listed: Case = { ...given, faults: { kind: 'list', list: first.faults } };
  if ((await breaks(listed)) !== undefined) best = listed;

  for (let before = ''; before !== JSON.stringify(best) && performance.now() < endMs;) {
    before = JSON.stringify(best);
    for (const step of steps) {
      for (let goesOn = true; goesOn;) {
        goesOn = false;
        for (const candidate of step(best)) {
          if (performance.now() > endMs) break;
          const ran = await breaks(candidate);
          if (ran === undefined) continue;
          best = candidate;
          detail = ran.violations.get(kind) ?? detail;
          goesOn = true;
          break;
        }
      }
    }
  }
  return { case: best, detail, tried };
}

const steps: readonly ((given: Case) => Generator<Case>)[] = [
  function* settings(given) {
    const { deploy, schedule, ...plain } = given;
    const { startsTake, ...prompt } = given;
    if (startsTake !== undefined) yield prompt;
    if (deploy !== undefined) yield { ...plain, ...(schedule === undefined ? {} : { schedule }) };
    if (schedule !== undefined) yield { ...plain, ...(deploy === undefined ? {} : { deploy }) };
    if (given.skews.length > 0) yield { ...given, skews: [] };
    if (given.missingFor > 0) yield { ...given, missingFor: 0 };
    if (given.answersAfter > 0.3) yield { ...given, answersAfter: 0.3 };
    if (given.cancelsFail) yield { ...given, cancelsFail: false };
    if (!given.dedupes) yield { ...given, dedupes: true };
    const { agent, ...agentless } = given;
    if (agent !== undefined)
      for (const less of smallerAgent(agent)) yield { ...agentless, ...(less === undefined ? {} : { agent: less }) };
    const { limits } = given;
    if (limits !== undefined) for (const less of smallerLimits(limits)) yield { ...given, limits: less };
  },
  function* entries(given) {
    const { entries } = given;
    for (let size = Math.ceil(entries.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
      for (let at = 0; at < entries.length; at += size)
        yield { ...given, entries: entries.filter((_, index) => index < at || index >= at + size) };
  },
  function* faults(given) {
    if (given.faults.kind !== 'list') return;
    const { list } = given.faults;
    for (let size = list.length; size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
      for (let at = 0; at < list.length; at += size)
        yield { ...given, faults: { kind: 'list', list: list.filter((_, index) => index < at || index >= at + size) } };
  },
  function* main(given) {
    for (const main of smallerFlow(given.flows.main)) yield { ...given, flows: { ...given.flows, main } };
  },
  function* kid(given) {
    for (const kid of smallerFlow(given.flows.kid)) yield { ...given, flows: { ...given.flows, kid } };
  },
  function* limited({ limits, ...rest }) {
    if (limits !== undefined)
      for (const flow of smallerFlow(limits.flow)) yield { ...rest, limits: { ...limits, flow } };
  },
  function* served({ served, ...rest }) {
    if (served === undefined) return;
    for (const desk of smallerFlow(served.desk)) yield { ...rest, served: { ...served, desk } };
    for (const chat of smallerFlow(served.chat)) yield { ...rest, served: { ...served, chat } };
    if (served.deskQueues) yield { ...rest, served: { ...served, deskQueues: false } };
    for (const [at, kind] of served.receivers.entries())
      if (kind !== 'ok') yield { ...rest, served: { ...served, receivers: served.receivers.with(at, 'ok') } };
  },
  function* terms(given) {
    for (const [at, entry] of given.entries.entries()) {
      if (entry.what !== 'start' && entry.what !== 'startNamed' && entry.what !== 'startLimited') continue;
      const { timeout, delay, ...plain } = entry;
      const put = (other: typeof entry): Case => ({
        ...given,
        entries: given.entries.map((one, index) => (index === at ? other : one)),
      });
      if (delay !== undefined) yield put({ ...plain, ...(timeout === undefined ? {} : { timeout }) });
      if (timeout !== undefined) yield put({ ...plain, ...(delay === undefined ? {} : { delay }) });
    }
  },
];

function* smallerFlow(flow: Flow): Generator<Flow> {
  if (flow.body.kind !== 'sleep') yield { ...flow, body: { kind: 'sleep', for: 0 } };
  if (flow.rounds > 0) yield { ...flow, rounds: flow.rounds - 1 };
  if (flow.catches) yield { ...flow, catches: false };
  for (const body of smaller(flow.body)) yield { ...flow, body };
}

/** Prints a case so that it fits on a screen. */
export function printCase(given: Case): string {
  const { flows, entries, faults, skews, deploy, schedule, limits, served } = given;
  const flow = (name: string, { body, rounds, catches }: Flow): string =>
    `${name}: ${print(body)}${rounds === 0 ? '' : `; continues as new ${rounds} times`}${catches ? '; catches a cancel' : ''}`;
  const usesKid = schedule !== undefined || JSON.stringify(flows.main.body).includes('"child"');
  return [
    `seed ${given.seed}`,
    flow('main', flows.main),
    ...(usesKid ? [flow('kid ', flows.kid)] : []),
    ...(limits === undefined ? [] : [flow('limited', limits.flow), `limits: ${printLimits(limits)}`]),
    ...(served === undefined
      ? []
      : [
          flow('desk', served.desk),
          flow('chat', served.chat),
          `desk ${served.deskQueues ? 'queues' : 'does not queue'} its contexts; receivers: ${served.receivers.join(', ')}`,
        ]),
    ...(given.agent === undefined ? [] : [`agent: ${printAgent(given.agent)}`]),
    ...entries.map(printEntry),
    ...(schedule === undefined
      ? []
      : [`schedule: kid each ${schedule.every} min, overlap ${schedule.overlap}, catches up ${schedule.catchUp} min`]),
    ...(skews.length === 0 ? [] : [`clocks of the replicas ahead by ${skews.join(', ')} s`]),
    ...(deploy === undefined ? [] : [`deploy: ${deploy.kind} from ${deploy.from} s to ${deploy.until} s`]),
    `server: ${given.dedupes ? 'dedupes' : given.finds ? `finds${given.lists === undefined ? '' : ` (${given.lists})`}` : 'neither dedupes nor finds'}${given.missingFor > 0 ? `, knows a task only after ${given.missingFor} s` : ''}${given.cancelsFail ? ', cancels may fail' : ''}${given.answersAfter > 0.3 ? `, answers a start after ${given.answersAfter} s` : ''}${given.startsTake === undefined ? '' : `, answers starts after ${given.startsTake} s`}`,
    faults.kind === 'dice'
      ? faults.rate === 0
        ? 'no faults'
        : `faults at ${faults.nth === undefined ? `${faults.rate * 100} % of operations` : `operation ${faults.nth}`} until ${faults.end} s: ${faults.of.join(', ')}${faults.at === undefined ? '' : `, at ${faults.at.join(', ')}`}`
      : faults.list.length === 0
        ? 'no faults'
        : `faults: ${faults.list
            .slice(0, 25)
            .map(({ at, deviation }) => `${deviation} at ${at}`)
            .join('; ')}${faults.list.length > 25 ? `; and ${faults.list.length - 25} more` : ''}`,
  ].join('\n');
}

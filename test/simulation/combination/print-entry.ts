import { printServedRequest } from './served/served.js';
import { printDelivery, printLimitedStart } from './limits.js';
import type { Entry, StartTerms } from './timetable.js';

const isAbout = (length: number): string => `for ${length} s`;

export function printEntry(entry: Entry): string {
  const { after } = entry;
  const at = `${entry.at} s${after === undefined ? '' : ` after ${after.kind} ${after.nth}`}`.padStart(9);
  const run = 'run' in entry ? ` of run ${entry.run}` : '';
  switch (entry.what) {
    case 'start':
      return `${at}  start with key ${entry.key}${printTerms(entry)}`;
    case 'startNamed':
      return `${at}  start as ${entry.id}, running: ${entry.whenRunning}, ended: ${entry.whenEnded}${printTerms(entry)}`;
    case 'startOrSignal':
      return `${at}  start or signal '${entry.name}' with key ${entry.key}`;
    case 'signal':
      return `${at}  signal '${entry.name}'${run}`;
    case 'burst':
      return `${at}  ${entry.count} signals with long names${run}`;
    case 'settle':
    case 'answer':
      return `${at}  ${entry.what} wait ${entry.pick}`;
    case 'relay':
      return `${at}  relay ${entry.by} settles wait ${entry.pick}`;
    case 'heartbeat':
      return `${at}  heartbeat of wait ${entry.pick} by ${entry.by} s`;
    case 'throttle':
      return `${at}  the store refuses ${entry.share === 1 ? '' : `${entry.share * 100} % of `}${entry.of} ${isAbout(entry.for)}`;
    case 'unreadable':
      return `${at}  partition ${entry.partition} of the due index cannot be read ${isAbout(entry.for)}`;
    case 'lose':
      return `${at}  an item that the history refers to (${entry.of} ${entry.pick}) is gone ${isAbout(entry.for)}`;
    case 'startLimited':
      return `${at}  ${printLimitedStart(entry)}${printTerms(entry)}`;
    case 'deliver':
      return `${at}  ${printDelivery(entry)}`;
    case 'task':
    case 'followUp':
    case 'cancelTask':
    case 'readTask':
    case 'awaitTask':
    case 'listTasks':
    case 'watch':
    case 'putPush':
    case 'dropPush':
      return `${at}  ${printServedRequest(entry)}`;
    case 'pause':
    case 'resume':
    case 'retryNow':
    case 'cancel':
    case 'terminate':
    case 'outcome':
    case 'query':
      return `${at}  ${entry.what}${run}`;
  }
}

function printTerms({ timeout, delay }: StartTerms): string {
  return `${timeout === undefined ? '' : `, timeout ${timeout} s`}${delay === undefined ? '' : `, delay ${delay} s`}`;
}

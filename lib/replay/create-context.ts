import type { WorkflowContext } from '../workflow/context.js';
import { branches } from './context/branches.js';
import { children } from './context/children.js';
import { checkTurn, type ContextHost } from './context/host.js';
import { remoteCalls } from './context/remote-calls.js';
import { reports } from './context/reports.js';
import { runs } from './context/runs.js';
import { sagas } from './context/sagas.js';
import { scopes } from './context/scopes.js';
import { served } from './context/served.js';
import { signals } from './context/signals.js';
import { steps } from './context/steps.js';
import { timers } from './context/timers.js';
import { tokens } from './context/tokens.js';
import { versions } from './context/versions.js';
import type { Scope } from './waits/scope.js';

/** Events after which a run should continue as a new one: the cost of a cold turn grows with its history. */
const continueAsNewEvents = 10_000;

/**
 * Creates the context of an execution, or of a scope of it. Invalid arguments reject the promise of the call before a
 * command exists, so the same code does the same on every replay.
 */
export function createContext(host: ContextHost, scope: Scope): WorkflowContext {
  const waitsForSignals = signals(host, scope);
  return {
    runId: host.runId,
    info: host.info,
    ...remoteCalls(host, scope),
    ...steps(host, scope),
    ...timers(host, scope),
    ...waitsForSignals,
    ...served(host, waitsForSignals),
    ...tokens(host, scope),
    ...children(host, scope),
    ...runs(host, scope),
    ...branches(host, scope),
    ...scopes(host, scope),
    ...sagas(host, scope),
    ...versions(host),
    // Defined here, since spreading a part would read a getter once.
    get shouldContinueAsNew() {
      return host.position.eventCount >= continueAsNewEvents;
    },
    ...reports(host),
    now() {
      return host.position.nowMs;
    },
    random() {
      checkTurn(host, 'random');
      return host.random.fraction();
    },
    uuid() {
      checkTurn(host, 'uuid');
      return host.random.uuid();
    },
  };
}

// API for tests of workflows: `outwait/testing`.

// Running an app in memory, on a clock that skips time.
export { createTestApp } from './testing/test-app.js';
export type { RunEnd, RunToEndOptions, StartedRun, TestApp, TestStartOptions } from './testing/test-app.js';
export type { TestAppOptions } from './testing/test-deps.js';
export type { VirtualClock } from './testing/virtual-clock.js';

// Deliveries of senders to hooks.
export { signedDelivery } from './testing/signed-delivery.js';
export type { DeliveryToSign, SignedDelivery } from './testing/signed-delivery.js';
export type { Received } from './operations/requests/receive-delivery.js';
export type { SentNotice } from './testing/memory-messenger.js';

// Servers that follow a script.
export { scriptedServer } from './testing/scripted-server.js';
export type { ScriptedServerHandle as ScriptedServer, ScriptedServerOptions } from './testing/scripted-server.js';
export type { ScriptedQuestion, ScriptedState, ScriptedTask } from './testing/scripted-task.js';

// Replaying recorded histories against the current code.
export { replayHistory } from './testing/replay.js';
export type { ReplayedHistory } from './operations/replay-verdict.js';
export type { ExportedEvent, HistoryView } from './operations/views/read-history.js';

// Types of what the test app returns; `outwait` exports the other types that they use.
export type * from './history/event.js';
export type { WaitKind } from './history/open-wait.js';
export type { BadReads } from './history/remote-end.js';
export type { AskedQuestion } from './history/remote-question.js';
export type { Settlement, TokenOutcome } from './history/settlement.js';
export type { StoredError } from './base/errors.js';
export type { Clock } from './base/time.js';
export type { Held, ParentWait, RunPosition, RunStatus, RunSummary } from './history/records.js';
export type { TaskOfRun } from './history/task-content.js';
export type { AddresseeView, QuestionView } from './operations/views/question-view.js';
export type { HeartbeatResult } from './operations/requests/heartbeat-token.js';
export type { Refusal } from './decide/refusal.js';
export type { AskedStatus, ListQuery, ListStatus } from './operations/views/list-runs.js';
export type { RunView } from './operations/views/show-run.js';
export type { TaskView, WaitTask } from './operations/views/task-view.js';
export type { WaitView } from './operations/views/wait-view.js';
export type { RemoteRequest } from './workflow/remote-request.js';

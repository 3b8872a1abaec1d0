// What the tests of a workflow author import.

export { createTestApp, TestApp } from './testing/test-app.js';
export type { TestAppOptions } from './testing/test-deps.js';
export { scriptedServer, ScriptedServer } from './testing/scripted-server.js';
export type { ScriptedServerOptions } from './testing/scripted-server.js';
export type { ScriptedQuestion, ScriptedTask } from './testing/scripted-task.js';
export { replayHistory } from './testing/replay.js';
export type { ReplayedHistory } from './operations/views/replay-history.js';
export type { HistoryView } from './operations/views/read-history.js';

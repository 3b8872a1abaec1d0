// What the tests of a workflow author import.

export { createTestApp, TestApp } from './testing/test-app.js';
export type { TestAppOptions } from './testing/test-app.js';
export { scriptedServer, ScriptedServer } from './testing/scripted-server.js';
export type { ScriptedServerOptions, ScriptedTask } from './testing/scripted-server.js';

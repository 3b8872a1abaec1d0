import { a2aAgent, type App, defineApp } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';

const waits = defineWorkflow<{ task: string }>({
  name: 'waits',
  run: async (ctx, { task }) => {
    const call = { server: 'agent', message: { parts: [{ text: task }] }, timeout: { hours: 48 } } as const;
    const outcome = await ctx.callRemoteTask(call);
    return JSON.stringify(outcome.result).includes(`"text":"${task}"`);
  },
});

/** Returns an app whose runs wait for one task of the agent each, and return whether the result is that of their own. */
export function waitingApp(origin: string): App {
  return defineApp({ workflows: [waits], servers: { agent: a2aAgent({ card: origin }) } });
}

// A program: an engine of local mode, which serves workflows or calls those of another one, until it is killed. Prints
// `ready` when it listens. Its runs are in a folder, where the next such process finds them.

import { writeSync } from 'node:fs';
import { z } from 'zod';
import { silentLog } from '../../../lib/base/log.js';
import { startLocalEngine } from '../../../lib/local/engine.js';
import { openStore } from '../../../lib/local/open-store.js';
import { loadTokenKeys, openStateFolder } from '../../../lib/local/state-folder.js';
import { a2aAgent, type A2aAgentConfig, type App, defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { jwtWebhook } from '../../../lib/workflow/jwt-auth.js';
import { dataOf } from '../../../lib/workflow/outcome.js';

/** Passed as JSON in the first argument. */
export interface LoopProcessOptions {
  readonly folder: string;
  readonly port: number;
  /** URL under which the other engine reaches this one. */
  readonly publicUrl: string;
  /** The served agent, for an engine that calls it. Missing: this is the engine that serves. */
  readonly agent?: AgentOptions;
}

export interface AgentOptions {
  /** Address of the agent, and how it is configured: by a card, or by the interface alone. */
  readonly url: string;
  readonly config: Pick<A2aAgentConfig, 'card'> | Pick<A2aAgentConfig, 'url'>;
  /** Whether its tools are called over MCP, rather than its skills over A2A. */
  readonly isMcp?: boolean;
  /** Whether pushes must be signed by the agent. Default: they must hold the secret of the call. */
  readonly isSigned?: boolean;
}

const quote = defineWorkflow({
  name: 'quote',
  input: z.object({ article: z.string() }),
  run: async (ctx, { article }) => {
    ctx.progress(`Looking for the price of a ${article}.`);
    const cents = await ctx.step('price', () => 12);
    const answer = await ctx.ask({
      to: 'caller',
      message: 'How many?',
      schema: z.object({ count: z.number().int().min(1) }),
    });
    if (answer.action !== 'accept') return ctx.reject('There is no quote without a count.');
    const { count } = answer.content;
    for (const [at, text] of ['Terms: ', '30 days.'].entries())
      ctx.artifact({ artifactId: 'terms', text, append: at > 0, lastChunk: at > 0 });
    return { article, count, cents: count * cents };
  },
});

const endless = defineWorkflow({
  name: 'endless',
  run: async (ctx) => {
    try {
      await ctx.sleep({ days: 3 });
    } finally {
      await ctx.step('tidy', () => 'tidied');
    }
  },
});

function servingApp(): App {
  return defineApp({
    workflows: [quote, endless],
    serve: {
      agent: { name: 'Desk', description: 'Quotes.' },
      skills: { quote: { description: 'Quotes an article.' }, endless: { description: 'Takes its time.' } },
    },
  });
}

function callingApp({ config, url, isSigned = false, isMcp = false }: AgentOptions): App {
  const named = (name: string) => (isMcp ? { server: 'desk', tool: name } : { server: 'desk', skill: name });
  const buys = defineWorkflow({
    name: 'buys',
    run: async (ctx) => {
      const asked: unknown[] = [];
      const outcome = await ctx.callRemoteTask({
        ...named('quote'),
        ...{ arguments: { article: 'bolt' }, timeout: { hours: 1 } },
        onInput: async ({ message, schema }, own) => {
          asked.push({ message, schema });
          const given = await own.signal('answer', { schema: z.object({ count: z.number() }).nullable() });
          return given === null ? { action: 'decline' } : { action: 'accept', content: given };
        },
      });
      return { asked, data: dataOf(outcome), result: outcome.result };
    },
  });
  const waits = defineWorkflow({
    name: 'waits',
    run: async (ctx) => (await ctx.callRemoteTask({ ...named('endless'), timeout: { hours: 1 } })).result,
  });
  const pushAuth = jwtWebhook({ issuer: url, jwksUrl: `${url}/.well-known/jwks.json`, requireBodyHash: true });
  const desk = a2aAgent({ ...config, ...(isSigned ? { pushAuth } : undefined) });
  return defineApp({ workflows: [buys, waits], servers: { desk: isMcp ? mcpServer({ url: `${url}/mcp` }) : desk } });
}

const { folder, port, publicUrl, agent } = JSON.parse(process.argv[2] ?? '') as LoopProcessOptions;
await openStateFolder(folder);
const { table } = await openStore({ folder, kind: 'memory', log: silentLog, onLost: () => process.exit(1) });
await startLocalEngine({
  app: agent === undefined ? servingApp() : callingApp(agent),
  tokens: await loadTokenKeys(folder),
  ...{ table, port, publicUrl, log: silentLog },
});
writeSync(1, 'ready\n');

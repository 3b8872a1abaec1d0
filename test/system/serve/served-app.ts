// What the replicas of these tests serve.

import * as z from 'zod';
import type { App, WorkflowContext } from '../../../lib/index.js';
import { defineApp, defineWorkflow } from '../../../lib/index.js';

/** Asks its caller half-way, and shows an artifact in two pieces. */
const talk = defineWorkflow({
  name: 'talk',
  input: z.object({ of: z.string() }),
  run: async (ctx, { of }) => {
    ctx.progress(`Thinking of ${of}.`);
    const answer = await ctx.ask({ to: 'caller', message: 'Which colour?', schema: z.object({ colour: z.string() }) });
    const colour = answer.action === 'accept' ? answer.content.colour : answer.action;
    ctx.artifact({ artifactId: 'rows', text: `${of}: `, append: true });
    const row = await ctx.step('paint', async () => `${colour} paint`);
    ctx.artifact({ artifactId: 'rows', text: row, append: true, lastChunk: true });
    return { of, colour, by: ctx.caller?.id ?? null };
  },
});

/** Says each message of its caller again, as a status and as an artifact, until one says goodbye. */
const listen = defineWorkflow({
  name: 'listen',
  run: async (ctx) => {
    let count = 0;
    for await (const { messageId, parts } of ctx.messages()) {
      const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join(' ');
      if (text === 'bye') break;
      ctx.progress(`heard ${text}`);
      ctx.artifact({ artifactId: messageId, text });
      count++;
    }
    return { count };
  },
});

/** Works for as long as `noticeUrl` holds the notice that it began. Its step then says whether it was told to stop. */
const work = defineWorkflow({
  name: 'work',
  input: z.object({ noticeUrl: z.string() }),
  run: async (ctx, { noticeUrl }) => {
    const note = async (what: string, signal?: AbortSignal): Promise<void> => {
      const body = `${ctx.task?.taskId ?? ''} ${what}`;
      await fetch(noticeUrl, { method: 'POST', body, ...(signal === undefined ? {} : { signal }) });
    };
    ctx.progress('working');
    return ctx.step(
      'work',
      async ({ signal }) => {
        await note('began', signal).catch(() => undefined);
        await note(signal.aborted ? 'was told' : 'ended');
        return 'late';
      },
      { timeout: { seconds: 30 } },
    );
  },
});

/** Answers one message, and says when it began and ended; `hold` waits for one more. */
async function answer(ctx: WorkflowContext, input: unknown): Promise<unknown> {
  const [part] = (input as { readonly parts: readonly { readonly text?: string }[] }).parts;
  const beganAtMs = await ctx.step('begin', async () => Date.now());
  if (part?.text === 'hold') for await (const {} of ctx.messages()) break;
  const endedAtMs = await ctx.step('end', async () => Date.now());
  return { to: part?.text ?? null, beganAtMs, endedAtMs };
}

/** Creates the app of a replica. */
export function servedApp(): App {
  return defineApp({
    workflows: [talk, listen, work, defineWorkflow({ name: 'answer', run: answer })],
    serve: {
      agent: { name: 'Desk', description: 'Does what is asked' },
      skills: {
        talk: { description: 'Asks for a colour' },
        listen: { description: 'Listens' },
        work: { description: 'Works for long', listed: 'callers' },
      },
      onMessage: 'answer',
    },
  });
}

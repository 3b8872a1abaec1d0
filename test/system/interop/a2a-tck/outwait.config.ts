// The agent that the protocol's compatibility kit (a2aproject/a2a-tck) is run against: it acts on the first words of the
// id of a message, as the files of the kit's folder `scenarios` say.

import { defineApp, defineWorkflow, type Part, type WorkflowContext } from 'outwait';
import { z } from 'zod';

type Scenario = (ctx: WorkflowContext) => Promise<unknown>;

const file = {
  raw: Buffer.from('Generated file content').toString('base64'),
  filename: 'output.txt',
  mediaType: 'text/plain',
};

/** Shows an artifact with one part, and is done. */
function showing(part: Part): Scenario {
  return async (ctx) => {
    ctx.artifact({ artifactId: 'output', parts: [part], lastChunk: true });
  };
}

const scenarios: Readonly<Record<string, Scenario>> = {
  'tck-complete-task': async () => 'Hello from TCK',
  'tck-artifact-text': showing({ text: 'Generated text content' }),
  'tck-artifact-file-url': showing({
    url: 'https://example.com/output.txt',
    filename: 'output.txt',
    mediaType: 'text/plain',
  }),
  'tck-artifact-file': showing(file),
  'tck-artifact-data': showing({ data: { key: 'value', count: 42 } }),
  // A served workflow is always a task.
  'tck-message-response': async () => 'Direct message response',
  'tck-input-required': askAgain,
  'tck-reject-task': async (ctx) => ctx.reject('rejected'),
  'tck-stream-001': showing({ text: 'Stream hello from TCK' }),
  'tck-stream-002': async () => undefined,
  'tck-stream-003': showing({ text: 'Stream task lifecycle' }),
  'tck-stream-ordering-001': showing({ text: 'Ordered output' }),
  'tck-stream-artifact-text': showing({ text: 'Streamed text content' }),
  'tck-stream-artifact-file': showing(file),
  'tck-stream-artifact-chunked': async (ctx) => {
    ctx.artifact({ artifactId: 'output', text: 'chunk-1 ' });
    ctx.artifact({ artifactId: 'output', text: 'chunk-2', append: true, lastChunk: true });
  },
  'test-resubscribe-message-id': async (ctx) => {
    await ctx.sleep({ seconds: 4 });
  },
};

/**
 * Asks until the caller says anything but one of the kit's messages for the history. An answer has no id to act on: these
 * are the only ones after which the kit wants to be asked again.
 */
async function askAgain(ctx: WorkflowContext): Promise<unknown> {
  for (;;) {
    const answer = await ctx.ask({ to: 'caller', message: 'What else?', schema: z.object({ text: z.string() }) });
    if (answer.action !== 'accept' || !answer.content.text.startsWith('TCK history message')) return 'Hello from TCK';
  }
}

const kit = defineWorkflow({
  name: 'kit',
  input: z.looseObject({ messageId: z.string() }),
  run: async (ctx, { messageId }) => {
    const known = Object.entries(scenarios).filter(([prefix]) => messageId.startsWith(prefix));
    const [, scenario] = known.sort(([a], [b]) => b.length - a.length)[0] ?? [];
    return scenario === undefined ? 'Hello from TCK' : scenario(ctx);
  },
});

const hidden = defineWorkflow({ name: 'hidden', run: async () => undefined });

/** Whether the agent has no extended card, and requires an extension that only one scenario of the kit names. */
const isStrict = process.env['TCK_AGENT'] === 'strict';

export default defineApp({
  workflows: [kit, hidden],
  serve: {
    agent: {
      name: 'TCK agent',
      description: 'Acts on the scenarios of the A2A compatibility kit.',
      // A card that names a fixed URL may be cached, which the kit asks for.
      url: process.env['TCK_URL'] ?? 'http://127.0.0.1:4000',
      extensions: isStrict ? [{ uri: 'urn:a2a:tck:required-extension', required: true }] : [],
    },
    skills: {
      // The tasks of a context run side by side: the kit leaves questions open, which would hold back the others.
      kit: { description: 'Acts on a scenario of the kit.', tags: ['tck'], context: 'parallel' },
      // Makes an extended card.
      hidden: { description: 'Does nothing.', listed: isStrict ? 'public' : 'callers' },
    },
    onMessage: 'kit',
  },
});

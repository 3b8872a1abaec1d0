import { a2aAgent, artifactsOf, defineApp, defineWorkflow, secret, standardWebhook } from 'outwait';

export const translate = defineWorkflow<{ text: string }>({
  name: 'translate',
  run: async (ctx, { text }) => {
    const outcome = await ctx.callRemoteTask({
      server: 'translator',
      message: { parts: [{ text: 'Translate into French.' }, { data: { text }, mediaType: 'application/json' }] },
    });
    return artifactsOf(outcome);
  },
});

export default defineApp({
  workflows: [translate],
  servers: {
    translator: a2aAgent({
      // The card is at /.well-known/agent-card.json below this URL; it names the agent's protocols and endpoints.
      card: 'https://translator.example.com',
      auth: { bearer: secret('TRANSLATOR_TOKEN') },
    }),
    supplier: a2aAgent({
      card: 'https://supplier.example.com/cards/quotes.json',
      // The card leads to a host that is not its own.
      allowedHosts: ['api.supplier.example.com'],
      // The agent keeps our context id, so the task of a start without an answer is looked for in that context only.
      probeByContext: true,
      // It signs its pushes, and does not send the secret of the call along.
      pushAuth: standardWebhook({ secret: secret('SUPPLIER_PUSH_KEY') }),
    }),
  },
});

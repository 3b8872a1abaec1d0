// An A2A 0.3 agent on the last official SDK of that version, over JSON-RPC at /rpc.

import type { AgentCard, Part } from 'a2a-sdk-v03';
import { type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-v03/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from 'a2a-sdk-v03/server/express';
import express from 'express';
import { randomUUID } from 'node:crypto';
import { runAgent, ScriptedAgent, type State } from './a2a-scripted-agent.js';

const agent = new ScriptedAgent();

const executor: AgentExecutor = {
  execute: async ({ taskId, contextId, task, userMessage }, bus) => {
    const status = (state: State, text?: string) => ({
      state,
      timestamp: new Date().toISOString(),
      ...(text === undefined ? {} : { message: message(text) }),
    });
    const message = (text: string, more: object = { taskId }) =>
      ({
        kind: 'message',
        messageId: randomUUID(),
        role: 'agent',
        contextId,
        parts: [{ kind: 'text', text }] as Part[],
        ...more,
      }) as const;
    const [part] = userMessage.parts;
    await agent.take({
      taskId,
      isFollowUp: task !== undefined,
      text: part?.kind === 'text' ? part.text : undefined,
      data: part?.kind === 'data' ? part.data : undefined,
      reply: (text) => {
        bus.publish(message(text, {}));
      },
      task: (state) => {
        bus.publish({ kind: 'task', id: taskId, contextId, status: status(state), history: [userMessage] });
      },
      status: (state, text) => {
        const final = state !== 'working';
        bus.publish({ kind: 'status-update', taskId, contextId, status: status(state, text), final });
      },
      artifact: (data) => {
        const artifact = { artifactId: 'result', parts: [{ kind: 'data', data: { ...data } }] as Part[] };
        bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, append: false, lastChunk: true });
      },
    });
    bus.finished();
  },
  cancelTask: async (taskId) => {
    agent.cancel(taskId);
  },
};

const app = express();
runAgent(agent, app, (origin) => {
  const card: AgentCard = {
    name: 'agent',
    description: '',
    version: '1.0.0',
    protocolVersion: '0.3.0',
    url: `${origin}/rpc`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
});

// An A2A 1.0 agent on the official SDK, over JSON-RPC at /rpc and HTTP+JSON at /rest.

import { AgentCard, Artifact, Message, Task, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { randomUUID } from 'node:crypto';
import { runAgent, ScriptedAgent, type State } from './a2a-scripted-agent.js';

const agent = new ScriptedAgent();

const executor: AgentExecutor = {
  execute: async ({ taskId, contextId, task, userMessage }, bus) => {
    const { parts } = Message.toJSON(userMessage) as { parts: { text?: string; data?: unknown }[] };
    const status = (state: State, text?: string) => ({
      state: `TASK_STATE_${state.toUpperCase().replace('-', '_')}`,
      timestamp: new Date().toISOString(),
      ...(text === undefined
        ? {}
        : { message: { messageId: randomUUID(), role: 'ROLE_AGENT', taskId, contextId, parts: [{ text }] } }),
    });
    await agent.take({
      taskId,
      isFollowUp: task !== undefined,
      text: parts[0]?.text,
      data: parts[0]?.data,
      reply: (text) => {
        const message = { messageId: randomUUID(), role: 'ROLE_AGENT', contextId, parts: [{ text }] };
        bus.publish(AgentEvent.message(Message.fromJSON(message)));
      },
      task: (state) => {
        const history = [Message.toJSON(userMessage)];
        bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: status(state), history })));
      },
      status: (state, text) => {
        const update = { taskId, contextId, status: status(state, text) };
        bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)));
      },
      artifact: (data) => {
        const artifact = Artifact.fromJSON({ artifactId: 'result', parts: [{ data }] });
        const update = { taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined };
        bus.publish(AgentEvent.artifactUpdate(update));
      },
    });
  },
  cancelTask: async (taskId) => {
    agent.cancel(taskId);
  },
};

const app = express();
runAgent(agent, app, (origin) => {
  const card = AgentCard.fromJSON({
    name: 'agent',
    description: '',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
});

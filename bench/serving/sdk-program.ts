// An agent on the official SDK with its store in memory, as a process of its own, whose tasks work and never end.

import { AgentCard, Task } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import type { AddressInfo } from 'node:net';
import { answerMemory } from './served-process.js';

const executor: AgentExecutor = {
  execute: async ({ taskId, contextId }, bus) => {
    bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } })));
    await new Promise(() => undefined);
  },
  cancelTask: async () => undefined,
};
const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card = AgentCard.fromJSON({
    ...{ name: 'agent', description: '', version: '1.0.0', skills: [] },
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  answerMemory();
  process.send?.({ url });
});

// Two replicas on the official SDK, as its documents build a server: each with a request handler of its own, both over
// one of its stores. They share a process, and so the lock in it.

import { AgentCard, Message, Task } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SdkReplicas {
  readonly urls: readonly [string, string];
  stop(): Promise<void>;
}

/** Starts both. What they do for a message is what the workflow `work` of `served-app.ts` does. */
export async function startSdkReplicas(): Promise<SdkReplicas> {
  const store = new InMemoryTaskStore();
  const servers = [await startReplica(store), await startReplica(store)] as const;
  return {
    urls: [urlOf(servers[0]), urlOf(servers[1])],
    stop: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      }
    },
  };
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function startReplica(store: InMemoryTaskStore): Promise<Server> {
  const card = AgentCard.fromJSON({
    name: 'agent',
    description: '',
    version: '1.0.0',
    supportedInterfaces: [{ url: 'http://127.0.0.1/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [],
  });
  const requestHandler = new DefaultRequestHandler(card, store, anExecutor());
  const app = express();
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function anExecutor(): AgentExecutor {
  const working = new Map<string, AbortController>();
  return {
    execute: async ({ taskId, contextId, userMessage }, bus) => {
      const { parts } = Message.toJSON(userMessage) as {
        parts: { data?: { readonly arguments: { readonly noticeUrl: string } } }[];
      };
      const noticeUrl = parts[0]?.data?.arguments.noticeUrl ?? '';
      const stop = new AbortController();
      working.set(taskId, stop);
      const note = async (what: string, signal?: AbortSignal): Promise<void> => {
        await fetch(noticeUrl, {
          method: 'POST',
          body: `${taskId} ${what}`,
          ...(signal === undefined ? {} : { signal }),
        });
      };
      const publish = (state: string): void => {
        const status = { state, timestamp: new Date().toISOString() };
        bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status })));
      };
      publish('TASK_STATE_WORKING');
      await note('began', stop.signal).catch(() => undefined);
      await note(stop.signal.aborted ? 'was told' : 'ended');
      publish('TASK_STATE_COMPLETED');
    },
    cancelTask: async (taskId) => {
      working.get(taskId)?.abort();
    },
  };
}

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { closeAll } from '../../unit/remote/loopback.js';
import { Caller, type Event } from './caller.js';
import { type Notices, startNotices } from './notices.js';
import { Replicas } from './replicas.js';
import { type SdkReplicas, startSdkReplicas } from './sdk-replicas.js';

/** Two replicas of one agent, and who calls them. */
interface Agent {
  readonly one: string;
  readonly other: string;
  readonly caller: Caller;
  readonly notices: Notices;
}

const workOf = ({ notices }: Agent) => [{ data: { skill: 'work', arguments: { noticeUrl: notices.url } } }];

/** Starts a task on the one replica, which works when this returns. */
async function aTask(agent: Agent): Promise<string> {
  const { id } = await agent.caller.send(agent.one, workOf(agent));
  await agent.notices.heard(id, 'began');
  return id;
}

/** What is done to two replicas, and what is then seen. */
const rows: readonly (readonly [what: string, see: (agent: Agent) => Promise<string>])[] = [
  [
    'a client subscribes at the other replica',
    async (agent) => {
      const { caller, notices, other } = agent;
      const id = await aTask(agent);
      const seen: Event[] = [];
      for await (const event of caller.follow(other, id)) {
        if (seen.length === 0) notices.release(id);
        seen.push(event);
      }
      notices.release(id);
      await notices.heard(id, 'ended');
      return seen.at(-1)?.kind === 'completed'
        ? 'every later change, to the end'
        : `${seen.length} event, then the stream ends while the task works`;
    },
  ],
  [
    'a client cancels at the other replica',
    async (agent) => {
      const { caller, notices, other } = agent;
      const id = await aTask(agent);
      await caller.cancel(other, id);
      const isTold = await notices.comes(id, 'was told', { count: 1, timeoutMs: 3_000 });
      notices.release(id);
      return isTold ? 'the step is told within 3 s' : 'the executor is never told';
    },
  ],
  [
    'the work then reports its end',
    async (agent) => {
      const { caller, notices, one, other } = agent;
      const id = await aTask(agent);
      const { status } = await caller.cancel(other, id);
      notices.release(id);
      await Promise.race([notices.heard(id, 'ended'), notices.heard(id, 'was told')]);
      const last = await changedFrom(status.state, async () => (await caller.read(one, id)).status.state);
      return `${stateText(status.state)}, then ${stateText(last)}`;
    },
  ],
  [
    'one message arrives twice, with its key',
    async (agent) => {
      const sent = { idempotencyKey: 'k', messageId: 'm-k' };
      const ids = [agent.one, agent.other].map(async (url) => (await agent.caller.send(url, workOf(agent), sent)).id);
      const tasks = new Set(await Promise.all(ids));
      for (const id of tasks) agent.notices.release(id);
      return tasks.size === 1 ? 'one task' : `${tasks.size} tasks`;
    },
  ],
  [
    'a message for the task arrives at the other replica',
    async (agent) => {
      const { caller, notices, other } = agent;
      const id = await aTask(agent);
      await caller.send(other, workOf(agent), { taskId: id });
      const isTwice = await notices.comes(id, 'began', { count: 2, timeoutMs: 1_500 });
      notices.release(id);
      return isTwice ? 'a second executor works on it, too' : 'the work goes on, and has the message';
    },
  ],
];

const head = '| while a task works on one replica | `@a2a-js/sdk` 1.3.0 | outwait |';
const stateText = (state: string): string => state.replace('TASK_STATE_', '').toLowerCase();

/** Returns what a state has changed to, or the state if it does not change within 1.5 s. */
async function changedFrom(state: string, read: () => Promise<string>): Promise<string> {
  const changed = vi.waitFor(
    async () => {
      const now = await read();
      expect(now).not.toBe(state);
      return now;
    },
    { timeout: 1_500, interval: 100 },
  );
  return changed.catch(() => state);
}

describeWithDynoxide('two replicas of one agent', () => {
  let replicas: Replicas;
  let sdk: SdkReplicas;
  beforeAll(async () => {
    [replicas, sdk] = await Promise.all([Replicas.start(2), startSdkReplicas()]);
  });
  afterAll(async () => {
    await Promise.all([replicas.stop(), sdk.stop()]);
    await closeAll();
  });

  it('keep what two of the official SDK lose, as the table in the documents says', async () => {
    const notices = await startNotices();
    const ofSdk: Agent = { one: sdk.urls[0], other: sdk.urls[1], caller: new Caller('none'), notices };
    const [one = '', other = ''] = replicas.urls;
    const ours: Agent = { one, other, caller: new Caller(await replicas.keyOf('ann')), notices };
    const lines = await Promise.all(
      rows.map(async ([what, see]) => `| ${[what, ...(await Promise.all([see(ofSdk), see(ours)]))].join(' | ')} |`),
    );
    const documents = await readFile(new URL('../../../docs/serving.md', import.meta.url), 'utf8');
    const [, ...documented] = documents.slice(documents.indexOf(head)).split('\n\n')[0]!.split('\n');
    expect(documented.filter((line) => line !== '')).toEqual(['|---|---|---|', ...lines]);
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { eventually } from '../../support/eventually.js';
import { closeAll, serve } from '../../unit/remote/loopback.js';
import { bundleProgram, type Program, startProgram } from '../processes.js';
import { type Balancer, startBalancer } from './balancer.js';
import type { ClientOptions, Report } from './official-clients.js';
import { Replicas } from './replicas.js';

const pushMethods = ['Create', 'Delete', 'Get'].map((verb) => `${verb}TaskPushNotificationConfig`);
const methods10 = [
  ...['CancelTask', 'GetExtendedAgentCard', 'GetTask', 'ListTaskPushNotificationConfigs', 'ListTasks'],
  ...['SendMessage', 'SendStreamingMessage', 'SubscribeToTask', 'card', ...pushMethods],
].sort();
const methods03 = [
  ...['agent/getAuthenticatedExtendedCard', 'card', 'message/send', 'message/stream'],
  ...['tasks/cancel', 'tasks/get', 'tasks/resubscribe'],
  ...['delete', 'get', 'list', 'set'].map((verb) => `tasks/pushNotificationConfig/${verb}`),
].sort();

/** What each client sees, in the words of its revision. */
const expected = (state: (name: string) => string, kind: (name: 'task' | 'artifact') => string) => ({
  seen: seenBy(state, kind),
  /** What a stream may show after its snapshot, which may be newer than the first of it. */
  changes: [state('working'), state('working'), state('input-required')],
});
const seenBy = (state: (name: string) => string, kind: (name: 'task' | 'artifact') => string) => ({
  skills: ['talk', 'listen', 'work'],
  sent: state('completed'),
  isSame: true,
  asked: state('input-required'),
  configs: ['p1', 'p1', '', 'p1,p2', 'p1'],
  snapshot: kind('task'),
  answered: true,
  watched: [state('working'), kind('artifact'), kind('artifact'), kind('artifact'), state('completed')],
  artifacts: [
    ['rows', 'sky: ', 'blue paint'],
    ['result', { of: 'sky', colour: 'blue', by: expect.any(String) as string }],
  ],
  canceled: state('canceled'),
  found: [true],
  unknown: true,
});
const expected10 = expected(
  (name) => `TASK_STATE_${name.toUpperCase().replace('-', '_')}`,
  (name) => (name === 'task' ? 'task' : 'artifactUpdate'),
);
const expected03 = expected(
  (name) => name,
  (name) => (name === 'task' ? 'task' : 'artifact-update'),
);

describeWithDynoxide('three replicas behind a balancer', () => {
  let replicas: Replicas;
  let balancer: Balancer;
  const programs: Program[] = [];
  beforeAll(async () => {
    replicas = await Replicas.start(3);
    balancer = await startBalancer(replicas.urls);
  });
  afterAll(async () => {
    await balancer.stop();
    await replicas.stop();
    await closeAll();
    await Promise.all(programs.map((program) => program.remove()));
  });

  it.concurrent.each([
    ['1.0 over JSON-RPC', 'client-1.0-process', 'JSONRPC', methods10, expected10],
    ['1.0 over HTTP+JSON', 'client-1.0-process', 'HTTP+JSON', methods10, expected10],
    ['0.3', 'client-0.3-process', 'JSONRPC', methods03, expected03],
  ] as const)(
    'serve the official client of %s, which is a process: each of its methods, and each reply in its own types',
    async (name, programName, transport, methods, { seen: seenByAll, changes }) => {
      const receiver = await serve((_, response) => response.writeHead(204).end());
      const program = await bundleProgram(`serve/${programName}`);
      programs.push(program);
      const key = await replicas.keyOf(`desk-${name.toLowerCase().replace(/\W+/g, '-')}`);
      const options: ClientOptions = { url: balancer.url, transport, key, hookUrl: receiver.url };
      const { code, stdout, stderr } = await startProgram(program, options).ended;
      expect([code, stderr]).toEqual([0, '']);
      const { seen, changed, methods: called } = JSON.parse(stdout) as Report;
      expect(seen).toMatchObject(seenByAll);
      const [first, ...later] = seen.streamed;
      expect([first, ...later]).toEqual([seenByAll.snapshot, ...changes.slice(changes.length - later.length)]);
      expect(changed).toEqual([]);
      expect(called).toEqual(methods);
      // The config was set after the question; every later event is pushed, by whichever replica.
      await eventually(async () => {
        const texts = receiver.received.map(({ text }) => text);
        expect(texts.filter((text) => text.includes(seen.taskId)).length).toBe(texts.length);
        expect(texts.at(-1)).toMatch(/"(TASK_STATE_COMPLETED|completed)"/);
      });
      for (const count of balancer.counts()) expect(count).toBeGreaterThan(3);
    },
  );
});

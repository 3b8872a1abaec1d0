import { askPerson, defineApp, defineWorkflow, webhookTo, type AskOptions, type People } from 'outwait';
import { createTestApp, scriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { defined } from '../../lib/base/defined.js';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import type { TestAppOptions } from '../../lib/testing/test-deps.js';
import { anApp, aFlow, startMs } from './support.js';
import type { Delivery, Messenger, NoticeMessage } from '../../lib/remote/messenger.js';
import type { Receiver } from '../../lib/workflow/people.js';

const hour = 3_600_000;
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const receiver = (name: string): Receiver => webhookTo({ url: `https://${name}.example.com/`, secret });
const people: People = {
  receivers: { finance: receiver('finance'), cfo: receiver('cfo') },
  link: 'https://desk.example.com/q/{inputId}',
};

async function asked(ask: Partial<AskOptions>, options: TestAppOptions = {}, given: People = people) {
  const flow = aFlow(async (ctx) => ctx.ask({ message: 'Refund?', ...ask }));
  const app = createTestApp(
    defineApp({ ...anApp(flow), workflows: [flow], people: given, schedules: [], hooks: {}, earlier: [] }),
    options,
  );
  const runId = await app.start(flow, null);
  await app.settleDown();
  return { app, runId };
}

/** Receivers that answer as they are told, by the host of their address. */
class Scripted implements Messenger {
  readonly sent: { readonly id: string; readonly host: string; readonly type: string; readonly atMs: number }[] = [];
  readonly #answer: (host: string, attempt: number) => Delivery;
  nowMs = (): number => 0;

  constructor(answer: (host: string, attempt: number) => Delivery) {
    this.#answer = answer;
  }

  async send(to: Receiver, { id, body }: NoticeMessage): Promise<Delivery> {
    const host = to.kind === 'webhook' && typeof to.url === 'string' ? new URL(to.url).host : '';
    this.sent.push({ id, host, type: (JSON.parse(body) as { type: string }).type, atMs: this.nowMs() });
    return this.#answer(host, this.sent.filter((one) => one.host === host).length);
  }
}

const failed: Delivery = { kind: 'failed', error: { code: 'REMOTE_UNREACHABLE', message: 'down' } };

async function askedOf(answer: (host: string, attempt: number) => Delivery, ask: Partial<AskOptions>) {
  const messenger = new Scripted(answer);
  const run = await asked(ask, { messenger });
  messenger.nowMs = () => run.app.clock.nowMs();
  return { ...run, messenger };
}

describe('people of a question (S2-20)', () => {
  it('are told once, with the question, who asks, until when, and a link, and never the token', async () => {
    const { app, runId } = await asked({ message: 'Refund\u202e 12 €?\u0007', to: 'finance', timeout: { hours: 2 } });
    await app.pass({ hours: 1 });
    const [notice, ...rest] = app.notices();
    expect(rest).toEqual([]);
    expect(notice).toEqual({
      id: `${runId}_1_0_0`,
      type: 'question.asked',
      atMs: startMs,
      data: {
        inputId: `${runId}.1`,
        question: 'Refund  12 €? ',
        to: 'finance',
        workflow: 'flow',
        runId,
        askedAt: '2026-01-01T00:00:00.000Z',
        reminder: 0,
        deadlineAt: '2026-01-01T02:00:00.000Z',
        link: `https://desk.example.com/q/${runId}.1`,
      },
    });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_TIMED_OUT' } });
    expect(app.notices()).toHaveLength(1);
  });

  it('get a link to the API if no page is configured and the public URL is known', async () => {
    const { link: _, ...without } = people;
    const { app, runId } = await asked({ to: 'finance', remindAfter: { hours: 1 } }, {}, without);
    expect(app.notices()[0]?.data).not.toHaveProperty('link');
    const token = await app.deps.store.tokens.read(runId, '1');
    const known = { ...app.deps, publicUrl: 'https://outwait.example.com', clock: { nowMs: () => startMs + 2 * hour } };
    await pollTask(known, { kind: 'poll', runId, waitId: '1', ...defined({ dueAtMs: token?.dueAtMs }) });
    expect(app.notices()[1]?.data['link']).toBe(`https://outwait.example.com/inputs/${runId}.1`);
  });

  it('are nobody without an addressee, and the default one if there is one', async () => {
    const without = await asked({});
    await without.app.pass({ hours: 1 });
    expect(without.app.notices()).toEqual([]);
    expect((await without.app.inputs())[0]).not.toHaveProperty('addressees');
    const { app } = await asked({}, {}, { ...people, default: 'cfo' });
    await app.pass({ hours: 1 });
    expect(app.notices().map(({ data }) => data['to'])).toEqual(['cfo']);
  });

  it('are reminded until the answer, and no more after it', async () => {
    const { app, runId } = await asked({ to: 'finance', remindAfter: { hours: 4 } });
    await app.pass({ hours: 9 });
    expect(app.notices().map(({ type, atMs, id }) => [type, atMs - startMs, id.slice(-3)])).toEqual([
      ['question.asked', 0, '0_0'],
      ['question.reminder', 4 * hour, '0_1'],
      ['question.reminder', 8 * hour, '0_2'],
    ]);
    const [input] = await app.inputs();
    expect(input?.addressees).toEqual([
      { to: 'finance', told: 3, lastToldAtMs: startMs + 8 * hour, nextAtMs: startMs + 12 * hour },
    ]);
    expect(await app.answer(input?.inputId ?? '', { action: 'decline' })).toBe(true);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { action: 'decline' } });
    await app.pass({ days: 2 });
    expect(app.notices()).toHaveLength(3);
  });

  it('are reminded 20 times at most', async () => {
    const { app } = await asked({ to: 'finance', remindAfter: { hours: 1 } });
    await app.pass({ days: 3 });
    expect(app.notices()).toHaveLength(21);
    expect((await app.inputs())[0]?.addressees?.[0]).not.toHaveProperty('nextAtMs');
  });

  it('are joined by a second addressee when the first does not answer, who is reminded too', async () => {
    const { app, runId } = await asked({
      to: 'finance',
      remindAfter: { hours: 10 },
      escalate: { after: { hours: 24 }, to: 'cfo' },
    });
    await app.pass({ hours: 35 });
    expect(app.notices().map(({ type, data, atMs }) => [type, data['to'], (atMs - startMs) / hour])).toEqual([
      ['question.asked', 'finance', 0],
      ['question.reminder', 'finance', 10],
      ['question.reminder', 'finance', 20],
      ['question.escalated', 'cfo', 24],
      ['question.reminder', 'finance', 30],
      ['question.reminder', 'cfo', 34],
    ]);
    await app.cancel(runId);
    await app.pass({ days: 3 });
    expect(app.notices()).toHaveLength(6);
  });

  it('are told anew, with the same id, while their receiver is down, and once it is back', async () => {
    const { app, runId, messenger } = await askedOf((_, attempt) => (attempt <= 8 ? failed : { kind: 'taken' }), {
      to: 'finance',
    });
    await app.pass({ days: 1 });
    expect(new Set(messenger.sent.map(({ id }) => id))).toEqual(new Set([`${runId}_1_0_0`]));
    expect(messenger.sent).toHaveLength(9);
    const waits = messenger.sent.slice(2).map(({ atMs }, at) => (atMs - (messenger.sent[at + 1]?.atMs ?? 0)) / 60_000);
    expect(waits.every((minutes, at) => minutes >= Math.min(2 ** at, 60) && minutes <= 2 ** at * 1.25 + 1)).toBe(true);
  });

  it('are given up for a notice after a day, and told by the next reminder', async () => {
    const { app, messenger } = await askedOf(() => failed, { to: 'finance', remindAfter: { hours: 12 } });
    await app.pass({ days: 4 });
    const ids = [...new Set(messenger.sent.map(({ id }) => id.slice(-3)))];
    expect(ids).toEqual(['0_0', '0_1', '0_2']);
    const first = messenger.sent.filter(({ id }) => id.endsWith('0_0'));
    expect(first.length).toBeGreaterThan(20);
    expect(first.length).toBeLessThan(35);
  });

  it('are told although the receiver of the other is down', async () => {
    const { app, messenger } = await askedOf((host) => (host.startsWith('finance') ? failed : { kind: 'taken' }), {
      to: 'finance',
      escalate: { after: { hours: 2 }, to: 'cfo' },
    });
    await app.pass({ hours: 3 });
    expect(messenger.sent.filter(({ host }) => host.startsWith('cfo')).map(({ type }) => type)).toEqual([
      'question.escalated',
    ]);
  });

  it('are left alone once their receiver says that it is gone', async () => {
    const { app, messenger } = await askedOf(() => ({ kind: 'gone' }), { to: 'finance', remindAfter: { hours: 1 } });
    await app.pass({ days: 1 });
    expect(messenger.sent).toHaveLength(1);
  });

  it('are told by a later deployment that brings their receiver', async () => {
    const flow = aFlow(async (ctx) => ctx.ask({ message: 'Refund?', to: 'finance', remindAfter: { hours: 1 } }));
    const app = createTestApp(defineApp({ workflows: [flow], people }));
    const runId = await app.start(flow, null);
    await app.pass({ minutes: 30 });
    app.deploy(anApp(flow));
    await app.pass({ hours: 2 });
    expect(app.notices()).toHaveLength(1);
    expect(await app.show(runId)).toMatchObject({ status: 'running' });
    app.deploy(defineApp({ workflows: [flow], people }));
    await app.pass({ hours: 2 });
    expect(app.notices().length).toBeGreaterThan(1);
  });

  it.each([
    [
      { to: 'finanec' },
      'to of a question: people.receivers of the app has no "finanec"; known receivers: finance, cfo',
    ],
    [
      { to: 'finance', escalate: { after: { hours: 1 }, to: 'constructor' } },
      'escalate.to of a question: people.receivers of the app has no "constructor"; known receivers: finance, cfo',
    ],
  ])('are refused at once if the app does not know them, and the question is not opened: %j', async (ask, message) => {
    const { app, runId } = await asked({ ...ask, timeout: { days: 1 } }, { bus: true });
    expect(app.notices()).toEqual([]);
    expect(await app.inputs()).toEqual([]);
    expect(app.lifecycleEvents().map(({ type }) => type)).not.toContain('InputRequired');
    expect(await app.runToEnd(runId, { within: { seconds: 1 } })).toEqual({
      status: 'failed',
      error: { code: 'CONFIG_INVALID', message },
    });
  });

  it('are refused by an app without people, and the workflow can ask anybody instead', async () => {
    const flow = aFlow(async (ctx) => {
      const asked = ctx.ask({ message: 'Refund?', to: 'finance' });
      const code = await asked.then(String, (error: unknown) => (error as { code: string }).code);
      return [code, await ctx.ask({ message: 'Refund?' })];
    });
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, null);
    await app.settleDown();
    const [input] = await app.inputs();
    await app.answer(input?.inputId ?? '', { action: 'decline' });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['CONFIG_INVALID', { action: 'decline' }],
    });
  });

  it('are told the beginning of a long question, which is listed whole', async () => {
    const message = `Which? ${'é'.repeat(2_000)}`;
    const { app } = await asked({ to: 'finance', message });
    const [notice] = app.notices();
    const told = notice?.data['question'] as string;
    expect(told).toBe(`Which? ${'é'.repeat(495)}…`);
    expect(Buffer.byteLength(told)).toBe(1_000);
    expect((await app.inputs())[0]?.message).toBe(message);
    const short = await asked({ to: 'finance', message: 'x'.repeat(1_000) });
    expect(short.app.notices()[0]?.data['question']).toBe('x'.repeat(1_000));
  });

  it('are told of the question of a remote server, whose text is plain', async () => {
    const flow = defineWorkflow<unknown>({
      name: 'flow',
      run: async (ctx) =>
        ctx.callRemoteTask({
          server: 'reports',
          tool: 'export',
          timeout: { hours: 6 },
          onInput: askPerson({ to: 'finance' }),
        }),
    });
    const server = scriptedServer({
      protocol: 'mcp',
      task: () => ({
        result: 'done',
        asks: [{ message: `Which\u001b[31m\u2028 ${'é'.repeat(200)}?`, schema: { type: 'object' } }],
      }),
    });
    const app = createTestApp(defineApp({ workflows: [flow], servers: anApp(flow).servers, people }), {
      servers: { reports: server },
    });
    await app.start(flow, null);
    await app.pass({ minutes: 5 });
    expect(app.notices().map(({ data }) => data['question'])).toEqual([`Which [31m  ${'é'.repeat(200)}?`]);
  });

  it.each([
    [{ to: 'no name' }, /^to of a question/],
    [{ remindAfter: { seconds: 59 } }, /^remindAfter of a question must be at least/],
    [{ escalate: { after: { hours: 1 }, to: '' } }, /^escalate.to of a question/],
    [{ escalate: { after: { seconds: 1 }, to: 'cfo' } }, /^escalate.after of a question must be at least/],
  ])('are refused if they are badly addressed: %j', async (ask, message) => {
    const { app, runId } = await asked(ask);
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'INPUT_INVALID', message: expect.stringMatching(message) as string },
    });
  });
});

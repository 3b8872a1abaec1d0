import { afterEach, expect, it } from 'vitest';
import type { HttpClient, HttpRequest } from '../../../lib/remote/http/http.js';
import { tryCall, type CallNews, type TriedCall } from '../../../lib/remote/try/call.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent } from '../../../lib/workflow/app.js';
import { working } from './a2a-agent.js';
import {
  closeAll,
  httpClient,
  nowMs,
  result,
  serve,
  transportDeps,
  type Answer,
  type LoopbackServer,
} from './loopback.js';

// The one call that `outwait try` makes, on a clock of its own.

afterEach(closeAll);

const S = 1_000;

interface Tried {
  readonly server: LoopbackServer;
  readonly sent: readonly HttpRequest[];
  readonly news: readonly CallNews[];
  readonly call: Promise<TriedCall>;
}

/**
 * Makes a call with a limit of ten minutes, whose pauses take no time and move the clock. `onPause` is called for the
 * pauses between the arrival of the start and its answer, and may let one last until the answer.
 */
async function tried(
  answer: Answer,
  onPause: (atS: number, person: { readonly giveUp: () => void }) => 'to the end' | undefined = () => 'to the end',
): Promise<Tried> {
  let hasCome = (): void => undefined;
  const come = new Promise<void>((resolve) => {
    hasCome = resolve;
  });
  const server = await serve((request, response) => {
    answer(request, response);
    hasCome();
  });
  const news: CallNews[] = [];
  const person = new AbortController();
  const giveUp = (): void => {
    person.abort();
  };
  let pauses = 0;
  let atMs = nowMs;
  const clock = { nowMs: () => atMs };
  const inner = httpClient();
  const sent: HttpRequest[] = [];
  const http: HttpClient = {
    send: (request) => {
      sent.push(request);
      return inner.send(request);
    },
  };
  const deps = transportDeps(http, { clock });
  const transport = createTransports({ supplier: a2aAgent({ url: server.url }) }, deps).get('supplier');
  const call = tryCall(
    transport,
    { kind: 'message', parts: [{ text: 'x' }] },
    {
      idempotencyKey: 'k',
      timeoutMs: 600 * S,
      signal: person.signal,
      nowMs: clock.nowMs,
      pause: async (ms, signal) => {
        await come;
        expect(++pauses, 'pauses').toBeLessThan(500);
        const isRunning = news.some(({ kind }) => kind === 'started');
        const lasts = isRunning ? undefined : onPause((atMs - nowMs) / S, { giveUp });
        if (lasts === 'to the end')
          await new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              resolve();
            });
          });
        else if (!signal.aborted) atMs += ms;
      },
      onNews: (one) => news.push(one),
    },
  );
  return { server, sent, news, call };
}

const methods = ({ server }: Tried): readonly string[] => server.received.map(({ body }) => body.method);

it('waits for the answer to the start as long as the call may take, and says how long that has been', async () => {
  let answerNow = (): void => undefined;
  const trial = await tried(
    (request, response) => {
      const ended = {
        ...working,
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'r', parts: [] }],
      };
      if (request.body.method === 'SendMessage')
        answerNow = () => {
          result(response, request, { task: ended });
        };
    },
    // The answer comes after eight minutes.
    (atS) => {
      if (atS < 480) return undefined;
      answerNow();
      return 'to the end';
    },
  );
  expect(await trial.call).toMatchObject({ kind: 'ended', end: { kind: 'completed' } });
  expect(methods(trial)).toEqual(['SendMessage']);
  expect(trial.sent[0]).toMatchObject({ timeoutMs: 600 * S, limits: { headersMs: 600 * S, totalMs: 600 * S } });
  expect(trial.news.at(-1)).toEqual({ kind: 'waiting', ms: 480 * S });
});

it('gives up a start that nobody has answered', async () => {
  const trial = await tried(
    () => undefined,
    (atS, { giveUp }) => {
      if (atS >= 20) giveUp();
      return undefined;
    },
  );
  expect(await trial.call).toEqual({ kind: 'start_given_up' });
  expect(trial.news).toEqual([
    { kind: 'waiting', ms: 10 * S },
    { kind: 'waiting', ms: 20 * S },
  ]);
});

it('cancels the task when the time is over', async () => {
  const trial = await tried((request, response) => {
    result(response, request, request.body.method === 'SendMessage' ? { task: working } : working);
  });
  expect(await trial.call).toMatchObject({ kind: 'given_up', why: 'timeout' });
  expect(methods(trial).filter((method) => method === 'CancelTask')).toHaveLength(1);
  expect(methods(trial).indexOf('CancelTask')).toBeGreaterThan(methods(trial).lastIndexOf('SendMessage'));
});

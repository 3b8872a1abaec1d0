import { ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse, Task } from '@a2a-js/sdk';
import { legacyPushNotificationToV1StreamResponse } from '@a2a-js/sdk/compat/v0_3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../lib/base/json.js';
import type { Call } from '../../../../lib/serve/a2a/call.js';
import { wire03 } from '../../../../lib/serve/a2a/wire-0.3.js';
import { wire10 } from '../../../../lib/serve/a2a/wire-1.0.js';
import type { ServedTask } from '../../../../lib/serve/task/served-task.js';
import { arbitraryTask, clean } from './arbitrary-task.js';

const call: Call = { version: '1.0', extensions: new Set() };
const sequence = 'https://outwait.dev/a2a/extensions/sequence/v1';
const numbered: Call = { version: '1.0', extensions: new Set([sequence]) };
const call03: Call = { version: '0.3', extensions: new Set() };

const asTask = (task: ServedTask, of: Call = call): JsonObject =>
  clean(wire10.result({ kind: 'task', task, historyLength: 100, wasSent: false }, of)) as JsonObject;
const names = { taskId: 't', contextId: 'c', isLast: false, historyLength: 100 };

describe('what 1.0 emits', () => {
  it('goes unchanged through the types of the official SDK', () => {
    fc.assert(
      fc.property(arbitraryTask({ hasTypes: true }), fc.boolean(), (task, isNumbered) => {
        const emitted = asTask(task, isNumbered ? numbered : call);
        expect(clean(Task.toJSON(Task.fromJSON(emitted)))).toEqual(emitted);
        for (const { parts } of task.artifacts)
          expect(emitted['artifacts']).toContainEqual(expect.objectContaining({ parts: clean(parts) }));
      }),
      { seed: 14 },
    );
  });

  it('wraps the answer to a message, and events, as the protocol says', () => {
    fc.assert(
      fc.property(arbitraryTask({ hasTypes: true }), fc.boolean(), fc.boolean(), (task, append, lastChunk) => {
        const sent = clean(wire10.result({ kind: 'task', task, historyLength: 1, wasSent: true }, call));
        expect(clean(SendMessageResponse.toJSON(SendMessageResponse.fromJSON(sent)))).toEqual(sent);
        const [artifact] = task.artifacts;
        const events = [
          wire10.event({ ...names, followed: { kind: 'snapshot', task } }, numbered),
          wire10.event({ ...names, followed: { kind: 'status', status: task.status, generation: 2 } }, numbered),
          ...(artifact === undefined
            ? []
            : [
                wire10.event(
                  { ...names, followed: { kind: 'artifact', artifact, append, lastChunk, generation: 3 } },
                  numbered,
                ),
              ]),
        ].map(clean);
        for (const event of events) expect(clean(StreamResponse.toJSON(StreamResponse.fromJSON(event)))).toEqual(event);
      }),
      { seed: 14 },
    );
  });

  it('lists tasks with all four members, also at the end', () => {
    const task = fc.sample(arbitraryTask({ hasTypes: true }), { seed: 1, numRuns: 1 })[0]!;
    const asked = { kind: 'list', request: { pageSize: 50 }, historyLength: 0, includeArtifacts: false } as const;
    const page = wire10.result({ kind: 'page', page: { tasks: [task], totalSize: 1 }, asked }, call) as JsonObject;
    expect(Object.keys(page)).toEqual(['tasks', 'nextPageToken', 'pageSize', 'totalSize']);
    expect(page).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 1 });
    expect(ListTasksResponse.fromJSON(page).tasks[0]?.id).toBe(task.taskId);
  });

  it('keeps data that is null, which the types of the SDK lose', () => {
    const event = wire10.event(
      {
        ...names,
        followed: {
          ...{ kind: 'artifact', append: false, lastChunk: true, generation: 2 },
          artifact: { artifactId: 'a', parts: [{ data: null }] },
        },
      },
      call,
    );
    expect(event).toMatchObject({ artifactUpdate: { artifact: { parts: [{ data: null }] } } });
  });
});

describe('what 0.3 emits', () => {
  it('means the same as what 1.0 emits', () => {
    fc.assert(
      fc.property(arbitraryTask({ hasTypes: false }), (task) => {
        const emitted = clean(
          wire03.result({ kind: 'task', task, historyLength: 100, wasSent: true }, call03),
        ) as JsonObject;
        const { payload } = legacyPushNotificationToV1StreamResponse(emitted);
        const read = clean(StreamResponse.toJSON({ payload })) as { task: JsonObject };
        expect(read.task).toEqual(asTask(task));
      }),
      { seed: 14 },
    );
  });

  it('has a kind in each object, and states in lower case', () => {
    const status = {
      state: 'input-required',
      atMs: 0,
      message: { messageId: 'q', role: 'agent', parts: [{ text: '?' }] },
    } as const;
    expect(
      wire03.event({ ...names, isLast: true, followed: { kind: 'status', status, generation: 2 } }, call03),
    ).toEqual({
      ...{ kind: 'status-update', taskId: 't', contextId: 'c', final: true },
      status: {
        state: 'input-required',
        timestamp: '1970-01-01T00:00:00.000Z',
        message: {
          ...{ kind: 'message', messageId: 'q', taskId: 't', contextId: 'c', role: 'agent' },
          parts: [{ kind: 'text', text: '?' }],
        },
      },
    });
  });
});

const sentIn10 = (message: JsonObject, more: JsonObject = {}): JsonValue => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], ...message },
  ...more,
});

describe('what 1.0 takes', () => {
  const request = (params: JsonValue) => {
    const operation = wire10.decode('SendMessage', params, call);
    if (operation.kind !== 'send') throw new Error('not a message');
    return operation;
  };

  it('every part, as the SDK writes it', () => {
    fc.assert(
      fc.property(arbitraryTask({ hasTypes: true }), ({ history: [message] }) => {
        if (message === undefined) return;
        const written = SendMessageRequest.toJSON(
          SendMessageRequest.fromJSON(sentIn10({ parts: clean(message.parts) })),
        ) as JsonValue;
        expect(clean(request(written).request.message.parts)).toEqual(clean(message.parts));
      }),
      { seed: 14 },
    );
  });

  it('the alphabet of base64 for URLs, and null for what is missing', () => {
    const parts = [{ raw: '_-8', text: null, metadata: null, mediaType: null }, { data: null }];
    const { request: sent, until, historyLength } = request(sentIn10({ parts, taskId: null }, { configuration: null }));
    expect(sent.message.parts).toEqual([{ raw: '/+8=' }, { data: null }]);
    expect([until, historyLength]).toEqual(['rests', 100]);
  });

  it.each([
    ['no message', {}, 'message'],
    ['no id', sentIn10({ messageId: undefined as never }), 'message.messageId'],
    ['an id that cannot be seen', sentIn10({ messageId: '\u200b' }), 'message.messageId'],
    ['an id that is too long', sentIn10({ messageId: 'x'.repeat(256) }), 'message.messageId'],
    ['no parts', sentIn10({ parts: [] }), 'message.parts'],
    ['too many parts', sentIn10({ parts: Array.from({ length: 1_001 }, () => ({ text: '' })) }), 'message.parts'],
    ['a part without content', sentIn10({ parts: [{ mediaType: 'text/plain' }] }), 'parts.0'],
    ['a part with two contents', sentIn10({ parts: [{ text: 'a' }, { text: 'a', data: 1 }] }), 'parts.1'],
    ['bytes that are not base64', sentIn10({ parts: [{ raw: 'ä' }] }), 'message.parts.0.raw'],
    ['a message of an agent', sentIn10({ role: 'ROLE_AGENT' }), 'message.role'],
    ['metadata that are a list', sentIn10({ metadata: [] }), 'message.metadata'],
    ['a flag that is a text', sentIn10({}, { configuration: { returnImmediately: 'yes' } }), 'returnImmediately'],
  ])('%s is refused, and the text says where', (_what, params, where) => {
    expect(() => request(clean<JsonValue>(params))).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(where) as string }),
    );
  });
});

describe('what 0.3 takes', () => {
  const partsOf = (parts: readonly unknown[]) => {
    const message = { kind: 'message', messageId: 'm', role: 'user', parts };
    const operation = wire03.decode('message/send', { message } as unknown as JsonValue, call03);
    return operation.kind === 'send' ? operation.request.message.parts : [];
  };

  it('every part', () => {
    expect(
      partsOf([
        { kind: 'text', text: 'a', metadata: { b: 1 } },
        { kind: 'data', data: { c: null } },
        { kind: 'file', file: { bytes: 'AA==', name: 'f', mimeType: 'x/y' } },
        { kind: 'file', file: { uri: 'https://example.com/f' } },
      ]),
    ).toEqual([
      { text: 'a', metadata: { b: 1 } },
      { data: { c: null } },
      { raw: 'AA==', filename: 'f', mediaType: 'x/y' },
      { url: 'https://example.com/f' },
    ]);
  });

  it('data that were wrapped, since 0.3 knows only objects', () => {
    const wrapped = { kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } };
    expect(partsOf([wrapped])).toEqual([{ data: [1] }]);
    expect(partsOf([{ ...wrapped, metadata: { data_part_compat: true, more: 1 } }])).toEqual([
      { data: [1], metadata: { more: 1 } },
    ]);
  });

  it.each([
    ['another kind', { kind: 'image' }],
    ['data that are not an object', { kind: 'data', data: [1] }],
    ['a file without content', { kind: 'file', file: {} }],
    ['a file with two contents', { kind: 'file', file: { bytes: '', uri: 'https://example.com' } }],
  ])('%s is refused', (_what, part) => {
    expect(() => partsOf([part])).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });

  it('a push config of at most 16 schemes, and says of a longer list only that', () => {
    const given = (schemes: readonly unknown[]) => ({
      taskId: 't',
      pushNotificationConfig: { url: 'https://receiver.example', authentication: { schemes } },
    });
    const set = (schemes: readonly unknown[]) =>
      wire03.decode('tasks/pushNotificationConfig/set', given(schemes) as JsonValue, call03);
    expect(set(Array(16).fill('Bearer'))).toMatchObject({ kind: 'set_push' });
    const issue = expect.objectContaining({ path: 'pushNotificationConfig.authentication.schemes' }) as unknown;
    expect(() => set(Array(17).fill(0))).toThrow(expect.objectContaining({ details: { issues: [issue] } }));
  });

  it('waits for the task unless the message says otherwise', () => {
    const until = (configuration?: JsonObject) => {
      const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] };
      const operation = wire03.decode('message/send', clean({ message, configuration }) as JsonValue, call03);
      return operation.kind === 'send' ? operation.until : undefined;
    };
    expect([until(), until({ blocking: true }), until({ blocking: false })]).toEqual(['rests', 'rests', 'accepted']);
  });
});

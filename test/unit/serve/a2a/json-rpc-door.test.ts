import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../../lib/base/errors.js';
import type { JsonObject } from '../../../../lib/base/json.js';
import type { PushConfig } from '../../../../lib/serve/push-configs.js';
import { MemoryPushConfigs } from '../../../support/memory-push-configs.js';
import { ScriptedTasks } from '../../../support/scripted-tasks.js';
import { aMessage, anAgent, type Answered, blocksOf, dataOf, serve } from './agent.js';

const codeOf = ({ body }: Answered): unknown => (body['error'] as JsonObject | undefined)?.['code'];
const messageIn = ({ body }: Answered): unknown => (body['error'] as JsonObject | undefined)?.['message'];
const reasonOf = ({ body }: Answered): unknown => {
  const [info] = (body['error'] as { data: { reason: string; domain: string }[] }).data;
  return info;
};
const resultOf = ({ body }: Answered): JsonObject => body['result'] as JsonObject;
const taskOf = (answer: Answered): JsonObject => resultOf(answer)['task'] as JsonObject;

const firstId = '1'.padStart(32, '0');

async function started(agent: ReturnType<typeof anAgent>, headers: Record<string, string> = {}): Promise<string> {
  return taskOf(await agent.rpc('SendMessage', aMessage(), headers))['id'] as string;
}

describe('the envelope (A2A-S19)', () => {
  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, null],
    ['bad JSON', '{"jsonrpc":', -32700, null],
    ['an empty body', '', -32600, null],
    ['no method', '{"jsonrpc":"2.0","id":7}', -32600, 7],
    ['another protocol', '{"jsonrpc":"1.0","id":7,"method":"GetTask"}', -32600, 7],
    ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}', -32600, null],
    [
      'an id that each event of a stream would repeat at length',
      `{"jsonrpc":"2.0","id":"${'q'.repeat(1_025)}","method":"GetTask"}`,
      -32600,
      null,
    ],
    ['params as a list', '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":[]}', -32602, 7],
    [
      'params as a list where none are needed',
      '{"jsonrpc":"2.0","id":7,"method":"GetExtendedAgentCard","params":[]}',
      -32602,
      7,
    ],
    ['an unknown method', '{"jsonrpc":"2.0","id":7,"method":"Nothing","params":{}}', -32601, 7],
    ['a method named like a member of every object', '{"jsonrpc":"2.0","id":7,"method":"toString"}', -32601, 7],
  ])('%s is refused', async (_what, text, code, id) => {
    const answer = await anAgent().post(text);
    expect([answer.status, codeOf(answer), answer.body['id']]).toEqual([200, code, id]);
  });

  it('a body nested too deeply is refused', async () => {
    const answer = await anAgent().post(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`);
    expect(codeOf(answer)).toBe(-32600);
  });

  it('a body of more than 100,000 values is refused before a schema names what is wrong with each', async () => {
    const listOf = (length: number) => JSON.stringify({ a: Array.from({ length }, () => 0) });
    expect(messageIn(await anAgent().post(listOf(100_001)))).toBe('JSON has more than 100000 values');
    expect(messageIn(await anAgent().post(listOf(99_999)))).toBe('jsonrpc must be "2.0"');
  });

  it('a body over the limit is refused before it is read', async () => {
    const answer = await anAgent().post('{}', { 'content-length': String(5 * 1024 * 1024) });
    expect([answer.status, codeOf(answer)]).toEqual([413, -32600]);
  });

  it('a text that is not JSON by its type is refused as such (A2A-S32)', async () => {
    const answer = await anAgent().post('hello', { 'content-type': 'text/plain' });
    expect([answer.status, codeOf(answer)]).toEqual([200, -32005]);
    expect(codeOf(await anAgent().post('', { 'content-type': 'text/plain' }))).toBe(-32005);
  });

  it('a caller without a credential is refused before the body is read', async () => {
    const answer = await anAgent().post('[', { authorization: 'Bearer nobody' });
    expect([answer.status, codeOf(answer), answer.headers.get('www-authenticate')]).toEqual([401, -32050, 'Bearer']);
  });

  it('a GET is told the method that the door takes', async () => {
    const response = await anAgent().app.request('/a2a');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the version (A2A-S17)', () => {
  it.each([
    ['a method of 1.0 without a version', 'GetTask', '', -32009],
    ['a method of 1.0 in a request of 0.3', 'GetTask', '0.3', -32009],
    ['an unknown minor version', 'GetTask', '1.1', -32009],
    ['something that is not a version', 'GetTask', 'one', -32009],
    ['a method of 0.3 in a request of 1.0', 'tasks/get', '1.0', -32601],
  ])('%s is refused', async (_what, method, version, code) => {
    const answer = await anAgent().rpc(method, { id: 'x' }, { 'a2a-version': version });
    expect(codeOf(answer)).toBe(code);
  });

  it('a patch number is ignored', async () => {
    const agent = anAgent();
    const id = await started(agent);
    expect(resultOf(await agent.rpc('GetTask', { id }, { 'a2a-version': '1.0.1' }))['id']).toBe(id);
  });

  it('may be in the query', async () => {
    const agent = anAgent();
    const id = await started(agent);
    const answer = await agent.rpc('GetTask', { id }, { 'a2a-version': '' }, '/a2a?A2A-Version=1.0');
    expect(codeOf(answer)).toBe(-32009);
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } });
    const headers = { 'content-type': 'application/json' };
    const response = await agent.app.request('/a2a?A2A-Version=1.0', { method: 'POST', body: text, headers });
    expect(await response.json()).toMatchObject({ result: { id } });
  });

  it('a method of 0.3 is answered in the form of 0.3, with and without its version', async () => {
    const agent = anAgent();
    const id = await started(agent);
    for (const version of ['', '0.3']) {
      const answer = await agent.rpc('tasks/get', { id }, { 'a2a-version': version });
      expect(resultOf(answer)).toMatchObject({ kind: 'task', id, status: { state: 'submitted' } });
    }
  });

  it('errors of 0.3 have data in no form of 1.0', async () => {
    const answer = await anAgent().rpc('tasks/get', { id: 'x' }, { 'a2a-version': '' });
    expect(answer.body['error']).toEqual({
      code: -32001,
      message: 'no task has this id',
      data: { reason: 'TASK_NOT_FOUND' },
    });
  });
});

describe('extensions', () => {
  const idempotent = 'https://outwait.dev/a2a/extensions/idempotent-send/v1';

  it('the answer names those that the request activated and the agent has', async () => {
    const agent = anAgent();
    const named = { 'a2a-extensions': `https://example.com/other, ${idempotent}` };
    const answer = await agent.rpc('SendMessage', aMessage(), named);
    expect(answer.headers.get('a2a-extensions')).toBe(idempotent);
    expect((await agent.rpc('SendMessage', aMessage())).headers.get('a2a-extensions')).toBeNull();
  });

  it('clients of 0.3 name them by another header, and are answered by it', async () => {
    const agent = anAgent();
    const id = await started(agent);
    const answer = await agent.rpc('tasks/get', { id }, { 'a2a-version': '', 'x-a2a-extensions': idempotent });
    expect(answer.headers.get('x-a2a-extensions')).toBe(idempotent);
  });

  it('a request without a required one is refused (A2A-S18)', async () => {
    const uri = 'https://example.com/ledger/v1';
    const agent = anAgent(undefined, {
      serve: { ...serve, agent: { ...serve.agent, extensions: [{ uri, required: true }] } },
    });
    expect(codeOf(await agent.rpc('SendMessage', aMessage()))).toBe(-32008);
    expect(codeOf(await agent.rpc('SendMessage', aMessage(), { 'a2a-extensions': uri }))).toBeUndefined();
  });

  it('with the extension a repeated message is the same task, and another one with its id is refused (A2A-S12)', async () => {
    const agent = anAgent();
    const message = aMessage();
    const ids = async (headers: Record<string, string>) => {
      const answers = [
        await agent.rpc('SendMessage', message, headers),
        await agent.rpc('SendMessage', message, headers),
      ];
      return answers.map((answer) => taskOf(answer)['id']);
    };
    expect(new Set(await ids({})).size).toBe(2);
    expect(new Set(await ids({ 'a2a-extensions': idempotent })).size).toBe(1);
    expect(new Set(await ids({ 'idempotency-key': 'key-1' })).size).toBe(1);
    const other = { ...message, message: { ...message.message, parts: [{ text: 'another' }] } };
    const refused = await agent.rpc('SendMessage', other, { 'a2a-extensions': idempotent });
    expect(codeOf(refused)).toBe(-32602);
    expect(reasonOf(refused)).toMatchObject({ reason: 'INVALID_PARAMS', metadata: { code: 'KEY_REUSED' } });
  });

  it('a key that cannot be one is refused', async () => {
    const answer = await anAgent().rpc('SendMessage', aMessage(), { 'idempotency-key': 'k'.repeat(300) });
    expect(codeOf(answer)).toBe(-32602);
  });
});

describe('what a message names', () => {
  const sent = async (parts: readonly unknown[], path?: string) => {
    const agent = anAgent();
    const answer = await agent.rpc('SendMessage', aMessage('', { parts: parts as JsonObject[] }), {}, path);
    const [{ skill, arguments: given } = {}] = agent.tasks.sent;
    return { code: codeOf(answer), skill, arguments: given };
  };

  it.each([
    ['plain text names no skill', [{ text: 'hi' }], { skill: undefined, arguments: undefined }],
    [
      'one data part names skill and arguments',
      [{ data: { skill: 'monthlyReport', arguments: { month: '10' } } }],
      { skill: 'monthlyReport', arguments: { month: '10' } },
    ],
    ['arguments may be missing', [{ text: 'go' }, { data: { skill: 'audit' } }], { skill: 'audit', arguments: {} }],
    [
      'data of another form are content',
      [{ data: { skill: 'audit', more: 1 } }],
      { skill: undefined, arguments: undefined },
    ],
    [
      'two data parts are content',
      [{ data: { skill: 'audit' } }, { data: {} }],
      { skill: undefined, arguments: undefined },
    ],
  ])('%s', async (_what, parts, expected) => {
    expect(await sent(parts)).toEqual({ code: undefined, ...expected });
  });

  it.each([
    ['the data are the arguments', [{ data: { month: '10' } }], { arguments: { month: '10' } }],
    ['or hold them', [{ data: { arguments: { month: '10' } } }], { arguments: { month: '10' } }],
    ['and may name the skill', [{ data: { skill: 'monthlyReport', arguments: {} } }], { arguments: {} }],
    ['a text has none', [{ text: 'October' }], { arguments: undefined }],
  ])('at the endpoint of a skill %s', async (_what, parts, expected) => {
    expect(await sent(parts, '/agents/monthlyReport/a2a')).toEqual({
      code: undefined,
      skill: 'monthlyReport',
      ...expected,
    });
  });

  it.each([
    ['another skill', [{ data: { skill: 'audit' } }]],
    ['two data parts', [{ data: {} }, { data: {} }]],
    ['arguments that are not an object', [{ data: [1] }]],
  ])('at the endpoint of a skill %s is refused', async (_what, parts) => {
    expect(await sent(parts, '/agents/monthlyReport/a2a')).toEqual({ code: -32602 });
  });

  it('at the endpoint of the workflow for messages data are content', async () => {
    expect(await sent([{ data: { any: 1 } }], '/agents/triage/a2a')).toEqual({ code: undefined });
    expect(await sent([{ data: { skill: 'audit' } }], '/agents/triage/a2a')).toEqual({ code: -32602 });
  });

  it('an endpoint of a skill that is not served does not exist, and strangers cannot tell', async () => {
    const agent = anAgent(undefined, {
      serve: { ...serve, skills: { ...serve.skills, hidden: { description: 'x', listed: 'callers' } } },
    });
    const { body } = await agent.rpc('GetTask', { id: 'x' }, {}, '/agents/audit/a2a');
    expect(body).toMatchObject({ error: { code: -32601, message: 'there is no such agent' } });
    const nobody = { authorization: 'Bearer nobody' };
    const [hidden, unknown] = await Promise.all(
      ['hidden', 'audit'].map(async (skill) => {
        const answer = await agent.rpc('GetTask', { id: 'x' }, nobody, `/agents/${skill}/a2a`);
        return [answer.status, answer.body];
      }),
    );
    expect(hidden).toEqual(unknown);
  });

  it('a skill that is not there is an invalid parameter', async () => {
    expect(await sent([{ data: { skill: 'unknown' } }])).toEqual({ code: -32602 });
  });

  it('a message to a task names no skill, whatever it looks like', async () => {
    const agent = anAgent();
    const taskId = await started(agent);
    await agent.rpc('SendMessage', aMessage('', { taskId, parts: [{ data: { skill: 'audit' } }] }));
    expect(agent.tasks.sent.at(-1)).toMatchObject({ taskId });
    expect(agent.tasks.sent.at(-1)).not.toHaveProperty('skill');
    expect(agent.tasks.sent.at(-1)).not.toHaveProperty('key');
  });
});

describe('messages to tasks', () => {
  it('one to a task that is over, unknown, of another context or without a name is refused (A2A-S11)', async () => {
    const agent = anAgent();
    const taskId = await started(agent);
    const codes = async (more: JsonObject) => codeOf(await agent.rpc('SendMessage', aMessage('x', more)));
    expect(await codes({ taskId, contextId: 'another' })).toBe(-32602);
    expect(await codes({ taskId: 'f'.repeat(32) })).toBe(-32001);
    expect(await codes({ messageId: '' })).toBe(-32602);
    agent.tasks.complete(taskId, 1);
    expect(await codes({ taskId })).toBe(-32004);
    expect(codeOf(await agent.rpc('GetTask', { id: '' }))).toBe(-32602);
  });

  it('the same message twice is one turn (A2A-S13)', async () => {
    const agent = anAgent();
    const taskId = await started(agent);
    agent.tasks.status(taskId, 'input-required', 'Which?');
    const answer = aMessage('that one', { taskId });
    await agent.rpc('SendMessage', answer);
    await agent.rpc('SendMessage', answer);
    expect(agent.tasks.sent).toHaveLength(2);
  });

  it('an answer to what has changed since is refused, where its sender says what it saw', async () => {
    const uri = 'https://outwait.dev/a2a/extensions/sequence/v1';
    const headers = { 'a2a-extensions': uri };
    const agent = anAgent();
    const taskId = await started(agent);
    agent.tasks.status(taskId, 'input-required', 'Which?');
    const answer = (match: string | number) =>
      aMessage('this', { taskId, metadata: { [uri]: { ifGenerationMatch: match } } });
    const refused = await agent.rpc('SendMessage', answer(1), headers);
    expect([codeOf(refused), reasonOf(refused)]).toMatchObject([-32010, { reason: 'TASK_GENERATION_MISMATCH' }]);
    expect(codeOf(await agent.rpc('SendMessage', answer('two'), headers))).toBe(-32602);
    expect(codeOf(await agent.rpc('SendMessage', answer('2'), headers))).toBeUndefined();
  });

  it('the configuration may say it too, and without the extension it says nothing', async () => {
    const agent = anAgent();
    const taskId = await started(agent);
    const answer = () => aMessage('this', { taskId }, { returnImmediately: true, ifGenerationMatch: '7' });
    const headers = { 'a2a-extensions': 'https://outwait.dev/a2a/extensions/sequence/v1' };
    expect(codeOf(await agent.rpc('SendMessage', answer(), headers))).toBe(-32010);
    expect(codeOf(await agent.rpc('SendMessage', answer()))).toBeUndefined();
  });
});

describe('waiting for a task (A2A-S14)', () => {
  it('a message that asks to return at once is answered with the task as it is', async () => {
    const agent = anAgent();
    const answer = await agent.rpc('SendMessage', aMessage());
    expect(taskOf(answer)).toMatchObject({ status: { state: 'TASK_STATE_SUBMITTED' } });
  });

  it.each([
    [
      'it is over',
      (id: string, agent: ReturnType<typeof anAgent>) => {
        agent.tasks.complete(id, 'done');
      },
      'TASK_STATE_COMPLETED',
    ],
    [
      'it asks',
      (id: string, agent: ReturnType<typeof anAgent>) => {
        agent.tasks.status(id, 'input-required', 'Which?');
      },
      'TASK_STATE_INPUT_REQUIRED',
    ],
    [
      '25 s are over',
      (_id: string, agent: ReturnType<typeof anAgent>) => {
        agent.tasks.advance(1);
      },
      'TASK_STATE_SUBMITTED',
    ],
  ])('others wait until %s', async (_what, change, state) => {
    const agent = anAgent();
    let isAnswered = false;
    const answering = agent.rpc('SendMessage', aMessage('x', {}, {})).finally(() => {
      isAnswered = true;
    });
    await agent.tasks.waited();
    agent.tasks.advance(24_999);
    await agent.tasks.waited();
    expect(isAnswered).toBe(false);
    change(firstId, agent);
    expect(taskOf(await answering)).toMatchObject({ status: { state } });
  });
});

describe('a store that fails once the task is there', () => {
  const down = (): never => {
    throw new EngineError('STORE_UNAVAILABLE', 'no answer');
  };

  it('does not hide the task from whoever sent the message', async () => {
    const agent = anAgent(undefined, {
      admit: () => ({
        tasks: { ...agent.tasks.of('alice'), waitFor: () => Promise.resolve().then(down), follow: down },
      }),
    });
    expect(taskOf(await agent.rpc('SendMessage', aMessage('x', {}, {})))['id']).toBe(firstId);
    const blocks = await blocksOf(await agent.rpcResponse('SendStreamingMessage', aMessage())).rest();
    expect(blocks.map(dataOf)).toMatchObject([undefined, { result: { task: {} } }]);
  });

  it('is told to be asked again, where there was none before', async () => {
    const agent = anAgent(undefined, { admit: () => ({ tasks: { ...agent.tasks.of('alice'), read: down } }) });
    const answer = await agent.rpc('GetTask', { id: 'x' });
    expect([answer.status, codeOf(answer), answer.headers.get('retry-after')]).toEqual([503, -32603, '2']);
  });
});

describe('reading tasks', () => {
  it('shows as many messages as the client asks for (A2A-S15)', async () => {
    const agent = anAgent();
    const id = await started(agent);
    for (const text of ['one', 'two', 'three']) agent.tasks.status(id, 'working', text);
    const texts = async (more: JsonObject) => {
      const { history = [] } = resultOf(await agent.rpc('GetTask', { id, ...more }));
      return (history as { parts: { text: string }[] }[]).map(({ parts }) => parts[0]?.text);
    };
    expect(await texts({ historyLength: 0 })).toEqual([]);
    expect(await texts({ historyLength: 2 })).toEqual(['one', 'two']);
    expect(await texts({})).toEqual(['hello', 'one', 'two']);
    expect(codeOf(await agent.rpc('GetTask', { id, historyLength: -1 }))).toBe(-32602);
  });

  it('unknown fields are ignored (A2A-S30)', async () => {
    const agent = anAgent();
    const id = await started(agent);
    expect(resultOf(await agent.rpc('GetTask', { id, tenant: '', more: { any: 1 } }))['id']).toBe(id);
    const message = aMessage('x', { extensions: [], color: 'red' });
    expect(codeOf(await agent.rpc('SendMessage', { ...message, more: 1 }))).toBeUndefined();
  });

  it('a task of another caller is not found, in the same words as one that does not exist', async () => {
    const agent = anAgent();
    const id = await started(agent);
    const mallory = { authorization: 'Bearer mallory' };
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      const foreign = await agent.rpc(method, { id }, mallory);
      expect(foreign.body).toEqual((await agent.rpc(method, { id: 'f'.repeat(32) }, mallory)).body);
      expect(codeOf(foreign)).toBe(-32001);
    }
  });

  it('the endpoint of a skill shows the tasks of that skill alone', async () => {
    const agent = anAgent();
    const id = await started(agent);
    const path = '/agents/monthlyReport/a2a';
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
      expect(codeOf(await agent.rpc(method, { id }, {}, path))).toBe(-32001);
    expect(codeOf(await agent.rpc('SendMessage', aMessage('x', { taskId: id }), {}, path))).toBe(-32001);
    expect(resultOf(await agent.rpc('ListTasks', {}, {}, path))).toMatchObject({ tasks: [], totalSize: 0 });
    expect(resultOf(await agent.rpc('GetTask', { id }, {}, '/agents/triage/a2a'))['id']).toBe(id);
  });

  it('the endpoint of a skill has the push configs of its tasks alone', async () => {
    const configs = new Map<string, Map<string, PushConfig>>();
    const scripted = new ScriptedTasks();
    const tasks = scripted.of('alice');
    const agent = anAgent(undefined, {
      pushes: true,
      admit: () => ({ tasks, pushConfigs: new MemoryPushConfigs(tasks, configs) }),
    });
    const taskId = await started(agent);
    const config = { taskId, id: 'c', url: 'https://receiver.example.com' };
    const calls = [
      ['CreateTaskPushNotificationConfig', config],
      ['GetTaskPushNotificationConfig', { taskId, id: 'c' }],
      ['ListTaskPushNotificationConfigs', { taskId }],
      ['DeleteTaskPushNotificationConfig', { taskId, id: 'c' }],
    ] as const;
    for (const [method, params] of calls) {
      const foreign = await agent.rpc(method, params, {}, '/agents/monthlyReport/a2a');
      expect(codeOf(foreign)).toBe(-32001);
      const unknown = { ...params, taskId: 'f'.repeat(32) };
      expect(foreign.body).toEqual((await agent.rpc(method, unknown, {}, '/agents/monthlyReport/a2a')).body);
      expect(codeOf(await agent.rpc(method, params, {}, '/agents/triage/a2a'))).toBe(undefined);
    }
  });

  it('a task that is too large for a reply leaves out the content of its oldest artifacts (A2A-S25)', async () => {
    const agent = anAgent();
    const id = await started(agent);
    agent.tasks.artifact(id, { artifactId: 'old', parts: [{ text: 'x'.repeat(2_000_000) }] });
    agent.tasks.artifact(id, { artifactId: 'new', parts: [{ text: 'y'.repeat(2_000_000) }] });
    const { artifacts, history } = resultOf(await agent.rpc('GetTask', { id })) as {
      artifacts: { parts: { text: string }[] }[];
      history: unknown[];
    };
    expect(artifacts.map(({ parts }) => parts[0]?.text.slice(0, 9))).toEqual(['left out:', 'yyyyyyyyy']);
    expect(history).toHaveLength(1);
  });
});

describe('listing tasks (A2A-S16)', () => {
  it('refuses what is not a page', async () => {
    const agent = anAgent();
    for (const params of [
      { pageSize: 0 },
      { pageSize: 101 },
      { pageToken: 'bad' },
      { status: 'TASK_STATE_DONE' },
      { statusTimestampAfter: 'soon' },
    ])
      expect(codeOf(await agent.rpc('ListTasks', params))).toBe(-32602);
  });

  it('pages through the own tasks, without artifacts and history unless they are asked for', async () => {
    const agent = anAgent();
    const ids: string[] = [];
    for (const owner of ['alice', 'bob', 'alice', 'alice']) {
      agent.tasks.advance(1_000);
      const id = await started(agent, { authorization: `Bearer ${owner}` });
      if (owner === 'alice') ids.unshift(id);
      agent.tasks.artifact(id, { artifactId: 'draft', parts: [{ text: 'x' }] });
    }
    const first = resultOf(await agent.rpc('ListTasks', { pageSize: 2 }));
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3, nextPageToken: '2' });
    expect(first['tasks']).toMatchObject([{ id: ids[0] }, { id: ids[1] }]);
    for (const task of first['tasks'] as JsonObject[]) {
      expect(task).not.toHaveProperty('artifacts');
      expect(task).not.toHaveProperty('history');
    }
    const last = resultOf(
      await agent.rpc('ListTasks', { pageSize: 2, pageToken: '2', includeArtifacts: true, historyLength: 1 }),
    );
    expect(last).toMatchObject({ nextPageToken: '', tasks: [{ id: ids[2], artifacts: [{}], history: [{}] }] });
  });

  it('filters by state, context and time', async () => {
    const agent = anAgent();
    const id = await started(agent);
    agent.tasks.advance(5_000);
    const other = taskOf(await agent.rpc('SendMessage', aMessage('x', { contextId: 'c-1' })))['id'];
    const listed = async (params: JsonObject) =>
      (resultOf(await agent.rpc('ListTasks', params))['tasks'] as JsonObject[]).map((task) => task['id']);
    const after = new Date(agent.tasks.nowMs).toISOString();
    expect(await listed({ statusTimestampAfter: after })).toEqual([other]);
    expect(await listed({ contextId: 'c-1' })).toEqual([other]);
    agent.tasks.status(id, 'working');
    expect(await listed({ status: 'TASK_STATE_WORKING' })).toEqual([id]);
    expect(await listed({ status: 'TASK_STATE_UNSPECIFIED', contextId: '' })).toHaveLength(2);
  });
});

describe('cancelling', () => {
  it('a second cancel answers with the canceled task, one of another end with an error (A2A-S10)', async () => {
    const agent = anAgent();
    const id = await started(agent);
    const first = resultOf(await agent.rpc('CancelTask', { id }));
    expect(first).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
    expect(resultOf(await agent.rpc('CancelTask', { id }))).toEqual(first);
    const over = await started(agent);
    agent.tasks.complete(over, 1);
    expect(codeOf(await agent.rpc('CancelTask', { id: over }))).toBe(-32002);
  });
});

describe('what is not supported', () => {
  it.each([
    ['CreateTaskPushNotificationConfig', { taskId: 't', url: 'https://example.com' }],
    ['GetTaskPushNotificationConfig', { taskId: 't', id: 'p' }],
    ['ListTaskPushNotificationConfigs', { taskId: 't' }],
    ['DeleteTaskPushNotificationConfig', { taskId: 't', id: 'p' }],
  ])('%s without pushes', async (method, params) => {
    expect(codeOf(await anAgent().rpc(method, params))).toBe(-32003);
  });

  it('a message that asks for pushes starts nothing', async () => {
    const agent = anAgent();
    const push = { taskPushNotificationConfig: { url: 'https://example.com/hook' } };
    expect(codeOf(await agent.rpc('SendMessage', aMessage('x', {}, push)))).toBe(-32003);
    expect(agent.tasks.sent).toEqual([]);
  });

  it('the extended card of an agent that has none', async () => {
    expect(codeOf(await anAgent().rpc('GetExtendedAgentCard', {}))).toBe(-32004);
  });
});

import { describe, expect, it } from 'vitest';
import { sequenceExtension } from '../../../../lib/base/a2a-extensions.js';
import { sendOperation } from '../../../../lib/serve/a2a/send-request.js';
import { aMessage, anAgent } from './agent.js';

const headers = { 'a2a-extensions': sequenceExtension };

describe('a generation that a message names', () => {
  const came = (metadata: Readonly<Record<string, never>> | object) => ({
    message: { messageId: 'm', role: 'user', parts: [{ text: 'a' }], metadata } as never,
    ...{ taskId: 't', contextId: undefined, metadata: undefined, ifGenerationMatch: undefined, push: undefined },
    ...{ returnImmediately: true, historyLength: 0 },
  });
  const call = { version: '1.0', extensions: new Set([sequenceExtension]) } as const;

  it('is no part of the message: another attempt may name a later one', () => {
    const first = sendOperation(came({ of: 'ann', [sequenceExtension]: { ifGenerationMatch: 3 } }), false, call);
    const again = sendOperation(came({ of: 'ann', [sequenceExtension]: { ifGenerationMatch: '4' } }), false, call);
    expect([first.request.ifGenerationMatch, again.request.ifGenerationMatch]).toEqual([3, 4]);
    expect(first.request.message).toEqual(again.request.message);
    expect(first.request.message.metadata).toEqual({ of: 'ann' });
    const bare = sendOperation(came({ [sequenceExtension]: { ifGenerationMatch: 3 } }), false, call);
    expect(bare.request.message).not.toHaveProperty('metadata');
  });
});

describe('a read that names a generation', () => {
  const started = async (agent: ReturnType<typeof anAgent>): Promise<string> => {
    const { body } = await agent.rpc('SendMessage', aMessage());
    return (body['result'] as { task: { id: string } }).task.id;
  };

  it('waits for a later one, if the client has activated the extension', async () => {
    const agent = anAgent(() => []);
    const id = await started(agent);
    let isAnswered = false;
    const reading = agent.rpc('GetTask', { id, currentGeneration: '1' }, headers).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await agent.rpc('GetTask', { id }, headers);
    expect(isAnswered).toBe(false);
    await agent.rpc('CancelTask', { id });
    const { body } = await reading;
    expect(body['result']).toMatchObject({ metadata: { [sequenceExtension]: { generation: 2 } } });
  });

  it('is answered at once if there is a later one, or without the extension', async () => {
    const agent = anAgent(() => []);
    const id = await started(agent);
    expect((await agent.rpc('GetTask', { id, currentGeneration: 0 }, headers)).status).toBe(200);
    expect((await agent.rpc('GetTask', { id, currentGeneration: 1 })).status).toBe(200);
    await agent.rpc('CancelTask', { id });
    expect((await agent.rpc('GetTask', { id, currentGeneration: 99 }, headers)).status).toBe(200);
  });
});

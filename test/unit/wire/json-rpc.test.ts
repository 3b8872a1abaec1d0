import { describe, expect, it } from 'vitest';
import { EventStreamSearch, readRpcReply, rpcRequest } from '../../../lib/remote/rpc/json-rpc.js';

describe('rpcRequest', () => {
  it('writes one request', () => {
    expect(rpcRequest('i1', 'tasks/get', { taskId: 't' })).toBe(
      '{"jsonrpc":"2.0","id":"i1","method":"tasks/get","params":{"taskId":"t"}}',
    );
  });
});

describe('readRpcReply for the request "7"', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":"7","result":{"a":1}}', { kind: 'result', result: { a: 1 } }],
    ['{"jsonrpc":"2.0","id":"7","result":null}', { kind: 'result', result: null }],
    [
      '{"jsonrpc":"2.0","id":"7","error":{"code":-32602,"message":"no"}}',
      { kind: 'error', error: { code: -32602, message: 'no' } },
    ],
    [
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
      { kind: 'error', error: { code: -32700, message: 'no' } },
    ],
    [
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}',
      { kind: 'error', error: { code: -32600, message: 'no' } },
    ],
  ])('takes %s', (text, expected) => {
    expect(readRpcReply(text, '7')).toEqual(expected);
  });

  it.each([
    ['another id', '{"jsonrpc":"2.0","id":"8","result":{}}', '"id" is not the id of the request'],
    ['a number for our text', '{"jsonrpc":"2.0","id":7,"result":{}}', '"id" is not the id of the request'],
    ['no id with a result', '{"jsonrpc":"2.0","id":null,"result":{}}', '"id" is not the id of the request'],
    [
      'no id with an error that can name one',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}',
      '"id" is not the id of the request',
    ],
    [
      'the error of another request',
      '{"jsonrpc":"2.0","id":"8","error":{"code":-32700,"message":"x"}}',
      '"id" is not the id of the request',
    ],
    ['no version', '{"id":"7","result":{}}', '"jsonrpc" is not "2.0"'],
    ['another version', '{"jsonrpc":"1.0","id":"7","result":{}}', '"jsonrpc" is not "2.0"'],
    [
      'result and error',
      '{"jsonrpc":"2.0","id":"7","result":{},"error":{"code":1,"message":"x"}}',
      'both "result" and "error"',
    ],
    ['result and an empty error', '{"jsonrpc":"2.0","id":"7","result":{},"error":null}', 'both "result" and "error"'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":"7"}', 'neither "result" nor "error"'],
    ['a request', '{"jsonrpc":"2.0","id":"7","method":"ping"}', 'a request came instead of a response'],
    [
      'an error without a code',
      '{"jsonrpc":"2.0","id":"7","error":{"message":"x"}}',
      '"error" has no integer code and text message',
    ],
    [
      'an error with a code in quotes',
      '{"jsonrpc":"2.0","id":"7","error":{"code":"1","message":"x"}}',
      '"error" has no integer code and text message',
    ],
    ['a batch', '[{"jsonrpc":"2.0","id":"7","result":{}}]', 'not a JSON object'],
    ['cut JSON', '{"jsonrpc":"2.0","id":"7","res', 'not valid JSON'],
  ])('S0-43: refuses %s', (_name, text, problem) => {
    expect(readRpcReply(text, '7')).toMatchObject({ kind: 'violation', problem });
  });

  it.each([
    ['5,000 levels', `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'JSON is nested deeper than 64 levels'],
    [
      '100,001 objects with a key',
      `[${'{"a":1},'.repeat(100_001)}1]`,
      'JSON has more than 200000 keys, objects and arrays',
    ],
  ])('S0-43: refuses %s, and says that it is too much', (_name, result, problem) => {
    const text = `{"jsonrpc":"2.0","id":"7","result":${result}}`;
    expect(readRpcReply(text, '7')).toEqual({ kind: 'beyond_limits', problem, holdsId: true });
  });
});

describe('EventStreamSearch for the request "7"', () => {
  const response = '{"jsonrpc":"2.0","id":"7","result":{"text":"é"}}';
  const other = '{"jsonrpc":"2.0","id":"6","result":{}}';

  it.each([
    ['CRLF', `: hi\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: ${response}\r\n\r\n`, response],
    [
      'several data lines',
      'data: {"jsonrpc":"2.0",\ndata: "id":"7","result":{}}\n\n',
      '{"jsonrpc":"2.0",\n"id":"7","result":{}}',
    ],
    [
      'a notification first',
      `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\ndata: ${response}\n\n`,
      response,
    ],
    [
      'a request of the server with our id first',
      `data: {"jsonrpc":"2.0","id":"7","method":"elicitation/create"}\n\ndata: ${response}\n\n`,
      response,
    ],
    ['another response first', `data: ${other}\n\ndata: ${response}\n\n`, response],
    ['clear text first', `data: ping\n\ndata: ${response}\n\n`, response],
    ['no blank line at the end', `data: ${response}`, response],
    ['ours twice', `data: ${response}\n\ndata: {"jsonrpc":"2.0","id":"7","result":{"text":"late"}}\n\n`, response],
    [
      'an error without id',
      'data: {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}\n\n',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    ],
    ['only others', `data: ${other}\n\n`, undefined],
    ['nothing', '', undefined],
  ])('reads a stream with %s', (_name, stream, expected) => {
    const search = new EventStreamSearch('7');
    // Pushes one character at a time, so that every boundary is tested.
    for (const character of stream) search.push(character);
    expect(search.finish()).toEqual(expected === undefined ? undefined : readRpcReply(expected, '7'));
  });

  it('says at which piece the response was complete', () => {
    const search = new EventStreamSearch('7');
    expect(['data: ', response, '\n', '\n'].map((piece) => search.push(piece))).toEqual([false, false, false, true]);
  });

  it.each([
    ['CR', '\r'.repeat(4 * 1024 * 1024)],
    ['LF, and one CR', `${'\n'.repeat(4 * 1024 * 1024)}\r`],
  ])('S0-43: is not held up by 4 MiB of empty lines that end in %s', (_name, lines) => {
    const search = new EventStreamSearch('7');
    search.push(lines);
    search.push(`data: ${response}\r\r`);
    expect(search.finish()).toEqual(readRpcReply(response, '7'));
  });
});

// Set up before each test file: fails the file if the engine's output holds a secret, a token or the id of a remote
// task. Covered are the log, metrics, events and traces of this process, and what its child processes log.

import { ChildProcess } from 'node:child_process';
import { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { afterAll, expect } from 'vitest';
import { outputs } from './heard.js';

/** Notes the lines that belong to the engine's log and metrics; other lines are the answers of commands. */
function hearLine(line: string): void {
  if (!line.startsWith('{')) return;
  if (line.includes('"_aws"')) outputs.hear('metric', line);
  else if (line.includes('"level"') && line.includes('"event"')) outputs.hear('log', line);
}

/** Returns a function that takes a stream in pieces, and passes whole lines on. */
function inLines(take: (line: string) => void): (piece: unknown) => void {
  let rest = '';
  return (piece) => {
    if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return;
    const lines = (rest + Buffer.from(piece as string).toString()).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(take);
  };
}

for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream) as (...given: unknown[]) => boolean;
  const hear = inLines(hearLine);
  Object.assign(stream, {
    write: (...given: unknown[]) => {
      hear(given[0]);
      return write(...given);
    },
  });
}

function hearStream(stream: Readable | null | undefined): void {
  if (stream === null || stream === undefined) return;
  const hear = inLines(hearLine);
  const push = stream.push.bind(stream);
  stream.push = (piece: unknown, encoding?: BufferEncoding) => {
    hear(piece);
    return push(piece, encoding);
  };
}

interface Spawning {
  spawn: (this: ChildProcess, options: unknown) => unknown;
}
const processes = ChildProcess.prototype as unknown as Spawning;
const { spawn } = processes;
processes.spawn = function (options) {
  const result = spawn.call(this, options);
  hearStream(this.stdout);
  hearStream(this.stderr);
  return result;
};

/** Ids of tasks in the replies of servers, as MCP and A2A have them. */
const taskIds = /"taskId": ?"([^"\\]{2,200})"|"id": ?"([^"\\]{2,200})", ?"contextId"/g;
const replyMaxChars = 100_000;

/** Notes the ids of tasks that servers of this process give out: to child processes, whose requests are not heard. */
function hearReply(piece: unknown): void {
  if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return;
  if (piece.length > replyMaxChars) return;
  const text = typeof piece === 'string' ? piece : Buffer.from(piece).toString();
  for (const [, taskId, id] of text.matchAll(taskIds)) outputs.addTaskId(taskId ?? id ?? '');
}

interface Answering {
  write: (this: ServerResponse, ...given: unknown[]) => unknown;
  end: (this: ServerResponse, ...given: unknown[]) => unknown;
}
const replies = ServerResponse.prototype as unknown as Answering;
const { write, end } = replies;
replies.write = function (...given) {
  hearReply(given[0]);
  return write.apply(this, given);
};
replies.end = function (...given) {
  hearReply(given[0]);
  return end.apply(this, given);
};

afterAll(() => {
  expect(outputs.leaks(), 'the output of the engine holds what it must not').toEqual([]);
});

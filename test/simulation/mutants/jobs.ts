import { testsIn, type Mutant } from './mutant.js';

const jobs = 'lib/remote/mcp/jobs.ts';
const client = 'lib/remote/mcp/mcp-transport.ts';
const wire = 'test/unit/wire/mcp-jobs.test.ts';
const peer = 'test/unit/remote/mcp-jobs.test.ts';

export const jobsMutants: readonly Mutant[] = [
  {
    name: 'job-of-another',
    rule: 'a status that names another job is not that of ours',
    file: jobs,
    edits: [
      { find: "return typeof named === 'object' || String(named) !== taskId;", replace: 'return named === undefined;' },
    ],
    caughtBy: testsIn(wire, 'the status of a job with '),
  },
  {
    name: 'job-error-as-status',
    rule: 'a status tool that answers with an error says nothing of the job',
    file: jobs,
    edits: [{ find: "if (exchange.result['isError'] !== true) return reply;", replace: 'return reply;' }],
    caughtBy: testsIn(wire, 'the status of a job that is an error of the tool and '),
  },
  {
    name: 'job-missing-by-itself',
    rule: 'an error of the status tool means a lost job only where the configuration says so',
    file: jobs,
    edits: [{ find: "kind: saysMissing(reply, job) ? 'missing' : 'unreadable'", replace: "kind: 'missing'" }],
    caughtBy: testsIn(wire, 'the status of a job that is an error of the tool and '),
  },
  {
    name: 'job-never-missing',
    rule: 'a job that its server has forgotten is lost, not waited for',
    file: jobs,
    edits: [{ find: "kind: saysMissing(reply, job) ? 'missing' : 'unreadable'", replace: "kind: 'unreadable'" }],
    caughtBy: testsIn(
      'test/engine/jobs.test.ts',
      'a job of a server that has tools and no tasks that the server has forgotten',
    ),
  },
  {
    name: 'job-start-taken-at-its-word',
    rule: 'a start that says done of a job with an id ends nothing before the job itself is read',
    file: jobs,
    edits: [
      {
        find: 'const isWhole = job.result !== undefined && job.resultTool === undefined && ',
        replace: 'const isWhole = job.result === undefined || ',
      },
    ],
    caughtBy: testsIn(wire, 'the reply to the start of a job that says done or failed of a job with an id'),
  },
  {
    name: 'job-start-error-as-job',
    rule: 'an error of the tool that starts a job is an outcome, whatever id stands in it',
    file: jobs,
    edits: [{ find: "if (result['isError'] === true) return readToolResult(result);", replace: '' }],
    caughtBy: testsIn(wire, 'the reply to the start of a job that is an error of the tool'),
  },
  {
    name: 'job-without-id-ended',
    rule: 'a start without an id may have made a job',
    file: jobs,
    edits: [
      {
        find: 'return unknown(`the reply of the tool "${job.tool}" has no job id',
        replace:
          "return job.id === '' ? { kind: 'ended', end: { kind: 'completed', result, isError: false } } : readToolResult(result);\n    return unknown(`the reply of the tool \"${job.tool}\" has no job id",
      },
    ],
    caughtBy: testsIn(wire, 'the reply to the start of a job without an id'),
  },
  {
    name: 'job-id-unchecked',
    rule: 'an id that cannot be stored and sent back is refused',
    file: jobs,
    edits: [{ find: 'if (!isUsableId(taskId))', replace: "if (typeof taskId !== 'string')" }],
    caughtBy: testsIn(wire, 'the reply to the start of a job has no usable id where it is '),
  },
  {
    name: 'job-number-as-text',
    rule: 'an id that came as a number is sent as a number',
    file: jobs,
    edits: [{ find: 'numericId === true ? Number(taskId) : taskId', replace: 'taskId' }],
    caughtBy: testsIn(wire, 'the reply to the start of a job may have a whole number'),
  },
  {
    name: 'job-done-without-result',
    rule: 'a job whose result is not where the configuration says has not ended',
    file: jobs,
    edits: [
      {
        find: 'if (found === undefined) return undefined;',
        replace:
          "if (found === undefined) return { kind: 'completed', result: reply.result, isError: false, ...task };",
      },
    ],
    caughtBy: testsIn(wire, 'the status of a job done without the result'),
  },
  {
    name: 'job-infinity',
    rule: 'a number that JavaScript does not hold never becomes a null in a result',
    file: jobs,
    edits: [
      {
        find: 'return finiteOrRefused({ end }, overflow, server).end;',
        replace: 'void finiteOrRefused; void overflow; void server; return end;',
      },
    ],
    caughtBy: testsIn(wire, 'the status of a job done with a number'),
  },
  {
    name: 'job-inherited-names',
    rule: 'a path finds what was sent, and nothing that every object has',
    file: 'lib/remote/mcp/tool-reply.ts',
    edits: [
      {
        find: "typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)",
        replace: "typeof inner === 'object' && inner !== null",
      },
    ],
    caughtBy: testsIn(wire, 'the status of a job done without the result'),
  },
  {
    name: 'job-wire-of-a-task',
    rule: 'the handle of a job is one that an outwait without jobs does not read as a task',
    file: jobs,
    edits: [{ find: 'return `${jobPrefix}${version}`;', replace: 'return version;' }],
    caughtBy: testsIn(wire, 'the reply to the start of a job has the id '),
  },
  {
    name: 'job-version-forgotten',
    rule: 'a job is asked for in the version of MCP that its handle names',
    file: 'lib/remote/mcp/legacy-sessions.ts',
    edits: [
      { find: 'version: versionIn(wire)', replace: "version: versionIn('2025-11-25')" },
      { find: 'session: id, wire }', replace: 'session: id }' },
    ],
    caughtBy: testsIn(peer, 'a job is asked for in the session and version'),
  },
  {
    name: 'job-called-as-task',
    rule: 'the start of a job is never called as a task',
    file: 'lib/remote/mcp/dialect-2025-11-25.ts',
    edits: [{ find: 'const asTask = call.job === undefined && (', replace: 'const asTask = (' }],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-with-tasks-declared',
    rule: 'a server is not told of tasks where a job is started or read',
    file: 'lib/remote/mcp/wire-2026-07-28.ts',
    edits: [{ find: 'tasks: idempotencyKey !== undefined && call.job === undefined,', replace: 'tasks: true,' }],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-tools-unchecked',
    rule: 'a job that names a tool which the server does not have is refused before it is started',
    file: 'lib/remote/mcp/tool-cache.ts',
    edits: [
      { find: 'if (missing.length === 0) return undefined;', replace: 'if (missing.length >= 0) return undefined;' },
    ],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-tools-from-an-old-list',
    rule: 'a list of tools that lacks one is read anew before a start is refused',
    file: 'lib/remote/mcp/tool-cache.ts',
    edits: [
      { find: 'listed === known ? await this.read(listCall, untilMs) : listed', replace: 'listed' },
      { find: 'const known = this.#listed;', replace: '' },
    ],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-tools-of-a-cut-list',
    rule: 'a list that goes on says nothing of the tools that are not in it',
    file: 'lib/remote/mcp/tool-cache.ts',
    edits: [{ find: "listed.kind === 'unready' || listed.isCut ? []", replace: "listed.kind === 'unready' ? []" }],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-cancel-believed',
    rule: 'a tool that answers a cancel with an error has stopped nothing; the job tells',
    file: jobs,
    edits: [
      {
        find: "return result['isError'] === true ? { kind: 'unsure', error: errorSaid(new ToolReply(result), tool) } : { kind: 'done' };",
        replace: "return { kind: 'done' };",
      },
    ],
    caughtBy: testsIn(wire, 'the cancel of a job answered with '),
  },
  {
    name: 'job-read-as-task',
    rule: 'a job is read with its tools',
    file: client,
    edits: [
      { find: 'if (handle.job === undefined) return dialect.get(handle);', replace: 'return dialect.get(handle);' },
    ],
    caughtBy: testsIn(peer, 'a job over '),
  },
  {
    name: 'job-status-starts-one',
    rule: 'a tool that tells of a job starts none',
    file: 'lib/workflow/server-jobs.ts',
    edits: [{ find: '?? problemWithTools(job as ServerJob, jobs)', replace: '' }],
    caughtBy: testsIn('test/unit/workflow/server-jobs.test.ts', 'jobs of a server are refused: '),
  },
  {
    name: 'state-with-secret',
    rule: 'the state of a job is reported in the words of the server, without what the server was sent',
    file: 'lib/remote/endpoint/redact.ts',
    edits: [
      {
        find: 'undefined : cutUtf8(redact(state), remoteStateMaxChars)',
        replace: 'undefined : cutUtf8(state, remoteStateMaxChars)',
      },
    ],
    caughtBy: testsIn(peer, 'a job over '),
  },
];

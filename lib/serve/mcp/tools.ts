// The list of tools: the served workflows, and the tools by which runs are handled. The same for all clients. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { SkillConfig, ToolHints } from '../../workflow/serve.js';
import { jsonSchemaOf, skillSchemaOf } from '../../workflow/skill-schema.js';
import type { McpEndpoint, McpVersion } from './call.js';
import { modern } from './call.js';
import { badRequest, invalidParams } from './errors.js';
import { toolPageSize } from './limits.js';
import { handleSchema } from './run-handle.js';

/** Returns a page of the tools as the revision writes them. @throws McpError `-32602` for a cursor that is none */
export function toolPage(endpoint: McpEndpoint, version: McpVersion, cursor: unknown): JsonObject {
  const first = cursor === undefined ? 0 : placeOf(cursor);
  const all = [...skillTools(endpoint, version), ...runTools(endpoint)];
  if (first > 0 && first >= all.length) throw noCursor();
  const last = first + toolPageSize;
  return {
    tools: all.slice(first, last),
    ...defined({ nextCursor: last < all.length ? Buffer.from(String(last)).toString('base64url') : undefined }),
  };
}

function placeOf(cursor: unknown): number {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('utf8') : '';
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw noCursor();
}

function noCursor(): Error {
  return badRequest(invalidParams, 'the cursor is not one of this list');
}

/** Returns the JSON Schema of the arguments of a skill, an object. */
export function inputSchemaOf({ serve, workflows }: McpEndpoint, skill: string): JsonObject {
  if (skill === serve.onMessage)
    return {
      type: 'object',
      properties: { text: { type: 'string', description: 'The message.' } },
      required: ['text'],
    };
  const workflow = workflows.get(skill);
  const schema = workflow === undefined ? undefined : skillSchemaOf(workflow);
  return schema?.['type'] === 'object' ? schema : { type: 'object' };
}

function skillTools(endpoint: McpEndpoint, version: McpVersion): readonly JsonObject[] {
  return Object.entries(endpoint.serve.skills ?? {}).map(([name, config]) => ({
    name,
    ...defined({ title: config.title }),
    description: describedBy(config),
    inputSchema: inputSchemaOf(endpoint, name),
    ...defined({
      outputSchema: version === '2025-03-26' ? undefined : outputSchemaOf(config, version),
      annotations: annotationsOf(config),
      execution: version === '2025-11-25' ? { taskSupport: config.task ?? 'optional' } : undefined,
    }),
  }));
}

function describedBy({ description, examples = [] }: SkillConfig): string {
  return examples.length === 0 ? description : `${description}\n\nExamples: ${examples.join(' · ')}`;
}

/** A call that takes long is answered with a handle, which clients would reject if the schema did not allow it. */
function outputSchemaOf({ output, task }: SkillConfig, version: McpVersion): JsonObject | undefined {
  const schema = output === undefined ? undefined : jsonSchemaOf(output);
  // Text is content, and clients refuse a result without what a schema promises.
  if (schema === undefined || schema['type'] === 'string') return undefined;
  const { $schema: _, ...own } = schema;
  const result =
    version === modern || own['type'] === 'object'
      ? own
      : { type: 'object', properties: { result: own }, required: ['result'] };
  if (task === 'required') return { type: 'object', ...result };
  const choice = { anyOf: [result, handleSchema] };
  return version === modern ? choice : { type: 'object', ...choice };
}

function annotationsOf({ title, hints }: SkillConfig): JsonObject | undefined {
  if (title === undefined && hints === undefined) return undefined;
  return { ...defined({ title }), ...hintsOf(hints ?? {}) };
}

function hintsOf({ readOnly, destructive, idempotent, openWorld }: ToolHints): JsonObject {
  return defined({
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: openWorld,
  });
}

const runId = { type: 'string', description: 'The runId of a handle.' };

function runTools({ serve }: McpEndpoint): readonly JsonObject[] {
  const startable = Object.entries(serve.skills ?? {}).filter(([, { task }]) => task !== 'required');
  const tools: readonly JsonObject[] = [
    runTool('run_status', {
      description:
        'Returns the state of a run, and its result if it has ended. Without a runId: the newest runs, for when a handle was lost or a call was cut off; look here before you call again.',
      properties: { runId },
      required: [],
      hints: { readOnly: true, idempotent: true },
    }),
    runTool('wait_for_run', {
      description:
        'Waits until a run has ended or asks something, at most 50 seconds, and returns its state or result. Only for a result that is needed now: a run goes on without anybody waiting.',
      properties: { runId },
      required: ['runId'],
      hints: { readOnly: true, idempotent: true },
    }),
    runTool('signal_run', {
      description: 'Answers a question of a run, or sends it a message.',
      properties: {
        runId,
        question: { type: 'string', description: 'Key of the question that is answered.' },
        action: { type: 'string', enum: ['accept', 'decline', 'cancel'], description: 'Default: accept.' },
        content: { type: 'object', description: 'The answer, as the schema of the question says.' },
        text: { type: 'string', description: 'The message, or the answer to a question for one value.' },
      },
      required: ['runId'],
      hints: { readOnly: false, destructive: false },
    }),
    runTool('cancel_run', {
      description: 'Cancels a run. It undoes what it must, and ends.',
      properties: { runId },
      required: ['runId'],
      hints: { readOnly: false, destructive: true, idempotent: true },
    }),
  ];
  return startable.length === 0 ? tools : [startTool(startable.map(([name]) => name)), ...tools];
}

function startTool(names: readonly string[]): JsonObject {
  return runTool('start_run', {
    description:
      'Starts a tool of this server in the background and returns the handle of the run at once. For work that takes long and whose result is not needed now.',
    properties: {
      tool: { type: 'string', enum: names },
      arguments: { type: 'object', description: 'The arguments of the tool.' },
      key: { type: 'string', description: 'Starts with the same key are one run: give one if you may repeat this.' },
    },
    required: ['tool'],
    hints: { readOnly: false, destructive: false, idempotent: false },
  });
}

interface RunTool {
  readonly description: string;
  readonly properties: JsonObject;
  readonly required: readonly string[];
  readonly hints: ToolHints;
}

function runTool(name: string, { description, properties, required, hints }: RunTool): JsonObject {
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    outputSchema: name === 'run_status' ? statusSchema : handleSchema,
    annotations: { ...hintsOf(hints), openWorldHint: false },
  };
}

const statusSchema: JsonObject = {
  type: 'object',
  anyOf: [
    handleSchema,
    { type: 'object', properties: { runs: { type: 'array', items: handleSchema } }, required: ['runs'] },
  ],
};

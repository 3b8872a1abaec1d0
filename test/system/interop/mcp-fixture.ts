// The tools that the conformance suite of MCP calls, as workflows that are served like any others.

import * as z from 'zod';
import { EngineError } from '../../../lib/base/errors.js';
import { isJsonObject, type JsonObject } from '../../../lib/base/json.js';
import { type App, defineApp } from '../../../lib/workflow/app.js';
import type { AnyWorkflow, WorkflowContext } from '../../../lib/workflow/context.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import type { SkillConfig } from '../../../lib/workflow/serve.js';

interface Tool extends Partial<SkillConfig> {
  readonly input?: z.ZodType;
  readonly run: (ctx: WorkflowContext, input: never) => Promise<unknown>;
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const wave = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const nothing = z.object({});

async function answered(ctx: WorkflowContext, name: string, field: string, type = 'string'): Promise<string> {
  const schema = { type: 'object', properties: { [field]: { type } }, required: [field] };
  const answer = await ctx.ask({ to: 'caller', name, message: `What is the ${field}?`, schema });
  const content = answer.action === 'accept' && isJsonObject(answer.content) ? answer.content : {};
  return JSON.stringify(content[field] ?? answer.action).replaceAll('"', '');
}

/** Answers a call at once: the first tool is one that needs no tasks and no arguments. */
const direct: Readonly<Record<string, Tool>> = {
  test_simple_text: { input: nothing, run: async () => 'This is a simple text response for testing.' },
  greet: { input: z.object({ name: z.string() }), run: async (_, { name }: { name: string }) => `Hello, ${name}!` },
  test_image_content: {
    run: async (ctx) => {
      ctx.artifact({ artifactId: 'image', parts: [{ raw: pixel, mediaType: 'image/png' }] });
    },
  },
  test_audio_content: {
    run: async (ctx) => {
      ctx.artifact({ artifactId: 'audio', parts: [{ raw: wave, mediaType: 'audio/wav' }] });
    },
  },
  test_embedded_resource: {
    run: async (ctx) => {
      const metadata = { uri: 'test://embedded-resource' };
      ctx.artifact({ artifactId: 'text', parts: [{ text: 'A resource.', mediaType: 'text/plain', metadata }] });
    },
  },
  test_multiple_content_types: {
    run: async (ctx) => {
      const metadata = { uri: 'test://mixed-content-resource' };
      ctx.artifact({ artifactId: 'image', parts: [{ raw: pixel, mediaType: 'image/png' }] });
      ctx.artifact({ artifactId: 'data', parts: [{ data: { test: 1 }, mediaType: 'application/json', metadata }] });
      return 'Multiple content types test:';
    },
  },
  test_error_handling: {
    run: async () => {
      throw new Error('This tool intentionally returns an error');
    },
  },
  test_tool_with_progress: {
    run: async (ctx) => {
      for (const progress of [0, 50, 100]) {
        ctx.progress({ progress, total: 100 });
        await ctx.sleep({ milliseconds: 50 });
      }
      return 'done';
    },
  },
  test_logging_tool: { run: async () => 'logged' },
  test_streaming_elicitation: { run: async (ctx) => answered(ctx, 'user_name', 'name') },
  test_headers: {
    input: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }), size: z.number().optional() }),
    run: async (_, { region }: { region: string }) => region,
  },
  test_input_required_result_elicitation: {
    run: async (ctx) => `Hello, ${await answered(ctx, 'user_name', 'name')}!`,
  },
  test_input_required_result_capabilities: {
    run: async (ctx) => `Hello, ${await answered(ctx, 'user_name', 'name')}!`,
  },
  test_input_required_result_request_state: {
    run: async (ctx) => `state-ok ${await answered(ctx, 'confirm', 'ok', 'boolean')}`,
  },
  test_input_required_result_tampered_state: {
    run: async (ctx) => `confirmed ${await answered(ctx, 'confirm', 'ok', 'boolean')}`,
  },
  test_input_required_result_multi_round: {
    run: async (ctx) => {
      const name = await answered(ctx, 'step1', 'name');
      return `${name} likes ${await answered(ctx, 'step2', 'color')}`;
    },
  },
};

const seconds = z.object({ seconds: z.number(), label: z.string().optional() });

/** Answers a call with a task, if the client has tasks. */
const asTasks: Readonly<Record<string, Tool>> = {
  slow_compute: {
    input: seconds,
    run: async (ctx, { seconds: length }: z.infer<typeof seconds>) => {
      if (length > 0) await ctx.sleep({ seconds: length });
      return `computed for ${length} s`;
    },
  },
  failing_job: {
    task: 'required',
    run: async (ctx) => {
      await ctx.sleep({ seconds: 1 });
      throw new Error('the job failed');
    },
  },
  protocol_error_job: {
    run: async () => {
      throw new EngineError('INTERNAL', 'a fault');
    },
  },
  confirm_delete: {
    input: z.object({ filename: z.string() }),
    run: async (ctx, { filename }: { filename: string }) =>
      `${filename}: ${await answered(ctx, 'confirm', 'confirm', 'boolean')}`,
  },
  multi_input: {
    run: async (ctx) => (await Promise.all(['first', 'second'].map((name) => answered(ctx, name, 'name')))).join(' '),
  },
  test_tool_with_task: {
    task: 'required',
    asksFirst: true,
    run: async (ctx) => `Hello, ${await answered(ctx, 'user_name', 'name')}!`,
  },
  test_missing_capability: { task: 'required', run: async () => 'done' },
};

/** A schema with all that JSON Schema has; the suite wants to see it as it is. */
const address = {
  $anchor: 'addressDef',
  type: 'object',
  properties: { street: { type: 'string' }, city: { type: 'string' } },
};
const wholeSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
const standard = {
  ...{ version: 1, vendor: 'fixture', validate: (value: unknown) => ({ value }) },
  jsonSchema: { input: () => wholeSchema, output: () => wholeSchema },
} as const;

/** Returns the app of the tools. */
export function fixtureApp(): App {
  const tools = { ...direct, ...asTasks };
  const workflows = Object.entries(tools).map(([name, { input, run }]) =>
    defineWorkflow({ name, input: input ?? nothing, run: run as never }),
  ) as AnyWorkflow[];
  const schemaTool = defineWorkflow({
    name: 'json_schema_2020_12_tool',
    input: { '~standard': standard } as never,
    run: async () => 'done',
  }) as AnyWorkflow;
  const skills = Object.entries(tools).map(([name, { input: _, run: _run, ...config }]) => [
    name,
    { description: `The tool ${name}`, ...(name in direct ? { task: 'forbidden' } : {}), ...config },
  ]);
  return defineApp({
    workflows: [...workflows, schemaTool],
    serve: {
      agent: { name: 'Fixture', description: 'Tools for tests' },
      skills: {
        ...(Object.fromEntries(skills) as Record<string, SkillConfig>),
        [schemaTool.name]: { description: 'A tool with a large schema', task: 'forbidden' },
      },
    },
  });
}

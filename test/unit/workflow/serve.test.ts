import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { problemWithServe } from '../../../lib/workflow/check-serve.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { skillSchemaOf } from '../../../lib/workflow/skill-schema.js';

const report = defineWorkflow({
  name: 'report',
  input: z.object({ month: z.string() }),
  run: () => Promise.resolve(null),
});
const triage = defineWorkflow({ name: 'triage', input: z.array(z.string()), run: () => Promise.resolve(null) });
const open = defineWorkflow({ name: 'open', run: () => Promise.resolve(null) });
const workflows = new Map([report, triage, open].map((workflow) => [workflow.name, workflow]));

const agent = { name: 'Desk', description: 'Answers' };
const skills = { report: { description: 'Builds a report' } };

describe('what is served', () => {
  it.each<[string, ServeConfig]>([
    ['skills', { agent, skills }],
    ['messages alone', { agent, onMessage: 'triage' }],
    [
      'a workflow for messages, whatever its input',
      { agent, skills: { triage: { description: 'x' } }, onMessage: 'triage' },
    ],
    [
      'a workflow without a schema',
      { agent, skills: { open: { description: 'x', context: 'queue', listed: 'callers' } } },
    ],
    [
      'everything that can be said',
      {
        agent: {
          ...agent,
          ...{ url: 'https://example.com', version: '2', documentationUrl: 'https://example.com/d' },
          ...{ iconUrl: 'https://example.com/i', provider: { organization: 'Example', url: 'https://example.com' } },
          security: [{ name: 'token', type: 'http', scheme: 'Bearer' }],
          extensions: [{ uri: 'https://example.com/x', required: true }],
        },
        skills: { report: { description: 'x', title: 'Report', tags: ['a'], examples: ['b'] } },
        limits: { maxLive: 1, perMinute: 2, turnsPerContext: 3, depth: 4 },
      },
    ],
  ])('may be %s', (_what, serve) => {
    expect(problemWithServe(serve, workflows)).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [{}, 'agent must be an object'],
    [{ agent: { name: 'x' }, skills }, 'agent.description must be a text'],
    [{ agent: { ...agent, name: ' ' }, skills }, 'agent.name must be a text'],
    [{ agent: { ...agent, url: 'flows.example.com' }, skills }, 'agent.url must be an http(s) URL'],
    [{ agent: { ...agent, color: 'red' }, skills }, 'agent.color is not known'],
    [{ agent: { ...agent, toString: 'x' }, skills }, 'agent.toString is not known'],
    [{ agent: { ...agent, provider: { organization: 'x', url: 'y' } }, skills }, 'agent.provider url must be'],
    [{ agent: { ...agent, security: [{ name: 'a' }, { name: 'a' }] }, skills }, 'the same name twice'],
    [{ agent: { ...agent, extensions: [{}] }, skills }, 'must be a list, each with a uri'],
    [{ agent, skills: { report: {} } }, 'skills.report.description must be a text'],
    [{ agent, skills: { report: { description: 'x', tags: 'a' } } }, 'skills.report.tags must be a list of texts'],
    [
      { agent, skills: { report: { description: 'x', context: 'both' } } },
      'skills.report.context must be queue or parallel',
    ],
    [{ agent, skills: { triage: { description: 'x' } } }, 'skills names "triage", whose input is not an object'],
    [{ agent, skills, limits: { depth: 0 } }, 'limits.depth must be a whole number from 1 to 16'],
    [{ agent, skills, limits: { depth: 17 } }, 'limits.depth must be a whole number from 1 to 16'],
    [{ agent, skills, limits: { perMinute: '60' } }, 'limits.perMinute must be a whole number from 1'],
    [{ agent, skills, limits: { width: 1 } }, 'limits.width is not known; known are maxLive'],
  ])('%j is refused', (serve, problem) => {
    expect(problemWithServe(serve as ServeConfig, workflows)).toContain(problem);
  });
});

describe('an app', () => {
  const define = (serve: unknown) => () => defineApp({ workflows: [report, triage], serve: serve as ServeConfig });

  it('has no starts that are merged into later ones', () => {
    const merged = defineWorkflow({
      name: 'merged',
      debounce: { period: { seconds: 5 } },
      run: () => Promise.resolve(null),
    });
    const known = new Map([['merged', merged]]);
    const problem = 'serves "merged", whose starts are debounced; a task begins with its own message';
    expect(problemWithServe({ agent, skills: { merged: { description: 'x' } } }, known)).toBe(problem);
    expect(problemWithServe({ agent, onMessage: 'merged' }, known)).toBe(problem);
  });

  it('serves workflows that it has', () => {
    expect(define({ agent, skills, onMessage: 'triage' })().serve).toEqual({ agent, skills, onMessage: 'triage' });
  });

  it.each([
    [{ agent }, 'serve must have skills, or onMessage'],
    [{ agent, skills: {} }, 'serve must have skills, or onMessage'],
    [{ agent, skills: { toString: { description: 'x' } } }, 'serve names "toString", which is not a workflow'],
    [{ agent, skills, onMessage: 'nobody' }, 'serve names "nobody", which is not a workflow'],
  ])('%j is refused', (serve, message) => {
    expect(define(serve)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message }));
  });
});

describe('the schema of a skill', () => {
  it('is that of its input, where the library of the schema writes it as JSON Schema', () => {
    expect(skillSchemaOf(report)).toMatchObject({ type: 'object', required: ['month'] });
    expect(skillSchemaOf(open)).toBeUndefined();
    const unwritable = defineWorkflow({
      name: 'u',
      input: z.object({ at: z.date() }),
      run: () => Promise.resolve(null),
    });
    expect(skillSchemaOf(unwritable)).toBeUndefined();
  });
});

import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runConformance } from './conformance-suite.js';
import { type ServerProcess, startServedWorkflows } from './mcp-server-processes.js';

// The MCP conformance suite against our server: its tools are workflows that local mode serves.

/** Scenarios by revision, with the number of checks at the end of each; a scenario that checks nothing fails. */
const scenarios = [
  ['2026-07-28', 'tasks-lifecycle', '9/9'],
  ['2026-07-28', 'tasks-capability-negotiation', '5/5'],
  ['2026-07-28', 'tasks-wire-fields', '4/4'],
  ['2026-07-28', 'tasks-request-state-removal', '3/3'],
  ['2026-07-28', 'tasks-mrtr-input', '4/4'],
  ['2026-07-28', 'tasks-request-headers', '5/5'],
  ['2026-07-28', 'tasks-dispatch-and-envelope', '9/9'],
  ['2026-07-28', 'tasks-required-task-error', '3/3'],
  ['2026-07-28', 'tasks-mrtr-composition', '2/2'],
  ['2026-07-28', 'server-stateless', '27/28'],
  ['2026-07-28', 'tools-list', '4/4'],
  ['2026-07-28', 'tools-call-simple-text', '2/2'],
  ['2026-07-28', 'tools-call-image', '2/2'],
  ['2026-07-28', 'tools-call-audio', '2/2'],
  ['2026-07-28', 'tools-call-embedded-resource', '2/2'],
  ['2026-07-28', 'tools-call-mixed-content', '2/2'],
  ['2026-07-28', 'tools-call-error', '2/2'],
  ['2026-07-28', 'tools-call-with-progress', '2/2'],
  ['2026-07-28', 'json-schema-2020-12', '8/8'],
  ['2026-07-28', 'server-sse-multiple-streams', '1/1'],
  ['2026-07-28', 'dns-rebinding-protection', '2/2'],
  ['2026-07-28', 'caching', '4/7'],
  ['2026-07-28', 'http-header-validation', '14/14'],
  ['2026-07-28', 'http-custom-header-server-validation', '10/10'],
  ['2026-07-28', 'input-required-result-basic-elicitation', '3/3'],
  ['2026-07-28', 'input-required-result-request-state', '3/3'],
  ['2026-07-28', 'input-required-result-multi-round', '4/4'],
  ['2026-07-28', 'input-required-result-missing-input-response', '2/2'],
  ['2026-07-28', 'input-required-result-result-type', '2/2'],
  ['2026-07-28', 'input-required-result-unsupported-methods', '2/2'],
  ['2026-07-28', 'input-required-result-tampered-state', '2/2'],
  ['2026-07-28', 'input-required-result-ignore-extra-params', '1/1'],
  ['2026-07-28', 'input-required-result-validate-input', '3/3'],
  ['2025-11-25', 'server-initialize', '2/2'],
  ['2025-11-25', 'ping', '2/2'],
  ['2025-11-25', 'tools-list', '3/3'],
  ['2025-11-25', 'tools-call-simple-text', '2/2'],
  ['2025-11-25', 'tools-call-image', '2/2'],
  ['2025-11-25', 'tools-call-audio', '2/2'],
  ['2025-11-25', 'tools-call-embedded-resource', '2/2'],
  ['2025-11-25', 'tools-call-mixed-content', '2/2'],
  ['2025-11-25', 'tools-call-error', '2/2'],
  ['2025-11-25', 'tools-call-with-progress', '2/2'],
  ['2025-11-25', 'json-schema-2020-12', '8/8'],
  ['2025-11-25', 'dns-rebinding-protection', '2/2'],
] as const;

/** Checks that fail, with the reason: of a tool that needs samples, and of lists that are not offered. */
const failing: Readonly<Record<string, readonly string[]>> = {
  'server-stateless': ['sep-2575-server-rejects-undeclared-capability'],
  caching: [
    'sep-2549-prompts-list-caching-hints',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
};

/** Scenarios that are left out, with the reason. */
const notApplicable = [
  [
    ['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource']
      .concat(['prompts-get-with-image', 'input-required-result-non-tool-request', 'completion-complete'])
      .concat(['resources-list', 'resources-read-text', 'resources-read-binary', 'resources-templates-read'])
      .concat(['resources-subscribe', 'resources-unsubscribe', 'sep-2164-resource-not-found']),
    'only tools are offered: no prompts, resources or completions',
  ],
  [
    ['tools-call-sampling', 'input-required-result-basic-sampling', 'input-required-result-basic-list-roots'].concat([
      'input-required-result-multiple-input-requests',
      'input-required-result-capability-check',
    ]),
    'clients are asked for forms and pages alone, not for samples or roots',
  ],
  [
    [
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'server-session-lifecycle',
    ].concat(['server-sse-polling']),
    'before 2026-07-28 there are no sessions, so nobody is asked and no stream is taken up again',
  ],
  [['tools-call-with-logging', 'logging-set-level'], 'what a workflow logs is for its operators'],
  [['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest'], 'skills are not offered'],
  [['tasks-status-notifications'], 'the suite has no checks in it yet'],
] as const;

let server: ServerProcess;
let results: string;
beforeAll(async () => {
  server = await startServedWorkflows();
  results = await mkdtemp(join(tmpdir(), 'outwait-conformance-'));
}, 60_000);
afterAll(async () => {
  await server.end();
  await rm(results, { recursive: true, force: true });
});

describe('the MCP conformance suite', () => {
  it.each(scenarios)(
    'MCP-S75: %s: the scenario %s passes',
    async (revision, scenario, passed) => {
      const version = ['--spec-version', revision, '--force'];
      const target = ['--url', server.url, '--scenario', scenario];
      const printed = await runConformance('server', ...target, ...version, '-o', results);
      expect(printed).toContain(`Passed: ${passed}, `);
      const failed = [...printed.matchAll(/\[([\w-]+) *\] \S*FAILURE/g)].map(([, check]) => check);
      expect(failed).toEqual(failing[scenario] ?? []);
    },
    90_000,
  );

  it('has no scenario for servers that is neither run nor left out for a reason', async () => {
    const listed = [...(await runConformance('list', '--server')).matchAll(/^ {2}- (\S+)/gm)].map(
      ([, name = '']) => name,
    );
    const known: readonly string[] = [
      ...scenarios.map(([, name]) => name),
      ...notApplicable.flatMap(([names]) => names),
    ];
    expect([...new Set(listed)].sort()).toEqual([...new Set(known)].sort());
  });
});

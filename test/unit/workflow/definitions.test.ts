import { defineApp, defineWorkflow, mcpServer, secret } from 'outwait';
import { describe, expect, it } from 'vitest';
import { workflowOf } from '../../../lib/workflow/app.js';

const flow = defineWorkflow({ name: 'flow', run: async () => 1 });

function problemOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    return [code, message];
  }
  return 'no problem';
}

describe('defineWorkflow', () => {
  it('has version 1 where none is given', () => {
    expect(flow).toMatchObject({ name: 'flow', version: '1' });
  });

  it.each(['', ' ', 'a b', '-a', 'a'.repeat(65), 'é'])('refuses the name "%s"', (name) => {
    expect(problemOf(() => defineWorkflow({ name, run: async () => 1 }))).toMatchObject([
      'CONFIG_INVALID',
      expect.stringContaining('name'),
    ]);
  });

  it.each(['', 'v'.repeat(65), 2 as never])('refuses the version "%s"', (version) => {
    expect(problemOf(() => defineWorkflow({ name: 'flow', version, run: async () => 1 }))).toEqual([
      'CONFIG_INVALID',
      'the version of workflow "flow" must be a string of 1 to 64 characters',
    ]);
  });
});

describe('defineApp', () => {
  it('knows its workflows by name', () => {
    expect(defineApp({ workflows: [flow] }).workflows.get('flow')).toBe(flow);
  });

  it('refuses two workflows of one name', () => {
    expect(problemOf(() => defineApp({ workflows: [flow, flow] }))).toEqual([
      'CONFIG_INVALID',
      'two workflows are named "flow"',
    ]);
  });

  it('keeps earlier versions beside the one that runs are started with, also of a workflow that starts none', () => {
    const versions = ['1', '2', '3'].map((version) => defineWorkflow({ name: 'flow', version, run: async () => 1 }));
    const [first, second, third] = versions;
    const app = defineApp({ workflows: [third!], earlier: [first!, second!] });
    const of = (workflow: string, version: string) =>
      versions.findIndex((one) => one === workflowOf(app, { workflow, version })) + 1;
    expect([of('flow', '1'), of('flow', '2'), of('flow', '3'), of('flow', '0'), of('wolf', '1')]).toEqual([
      1, 2, 3, 3, 0,
    ]);
    const retired = defineApp({ workflows: [], earlier: [first!] });
    expect(workflowOf(retired, { workflow: 'flow', version: '1' })).toBe(first);
    expect(workflowOf(retired, { workflow: 'flow', version: '2' })).toBeUndefined();
  });

  it('refuses one version twice', () => {
    const message = 'two workflows are named "flow" and have the version "1"';
    expect(problemOf(() => defineApp({ workflows: [flow], earlier: [flow] }))).toEqual(['CONFIG_INVALID', message]);
    expect(problemOf(() => defineApp({ workflows: [], earlier: [flow, flow] }))).toEqual(['CONFIG_INVALID', message]);
    expect(problemOf(() => defineApp({ workflows: [], earlier: {} as never }))).toEqual([
      'CONFIG_INVALID',
      'earlier must be a list of workflows',
    ]);
  });

  it.each([
    ['a b', 'https://reports.example.com', 'servers: "a b" must be letters, digits, ".", "_" or "-", at most 64'],
    ['reports', 'reports.example.com', 'servers.reports.url must be an http(s) URL'],
    ['reports', 'ftp://reports.example.com', 'servers.reports.url must be an http(s) URL'],
    ['reports', 'https://u:hunter2@reports.example.com', 'servers.reports.url must not contain user info; use auth'],
  ])('refuses the server "%s" at %s, and does not repeat the URL', (name, url, message) => {
    expect(problemOf(() => defineApp({ workflows: [], servers: { [name]: mcpServer({ url }) } }))).toEqual([
      'CONFIG_INVALID',
      message,
    ]);
  });

  it('GB-27: takes a revision of MCP that has tasks, and names both for any other', () => {
    const url = 'https://reports.example.com/mcp';
    const pinned = (protocolVersion: string) => () =>
      defineApp({
        workflows: [],
        servers: { reports: mcpServer({ url, protocolVersion: protocolVersion as '2025-11-25' }) },
      });
    expect(pinned('2025-11-25')().servers['reports']).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(problemOf(pinned('2025-06-18'))).toEqual([
      'CONFIG_INVALID',
      'servers.reports.protocolVersion must be 2026-07-28 or 2025-11-25, not "2025-06-18"',
    ]);
  });

  it('holds a secret by name only', () => {
    expect(secret('REPORTS_TOKEN')).toEqual({ kind: 'environment', name: 'REPORTS_TOKEN' });
  });
});

import { mkdtemp, rm } from 'node:fs/promises';

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleProgram, type Program } from '../processes.js';
import { runConformance } from './conformance-suite.js';

// The MCP conformance suite against our transport: the suite serves a scenario, runs our client and checks what it
// sent.

/**
 * Scenarios by revision, with the number of checks at the end of each. The suite skips unknown scenarios and exits with
 * 0.
 */
const scenarios = [
  ['2026-07-28', 'tools_call', 2],
  ['2026-07-28', 'request-metadata', 6],
  ['2026-07-28', 'http-standard-headers', 3],
  ['2026-07-28', 'http-custom-headers', 18],
  ['2026-07-28', 'http-invalid-tool-headers', 12],
  ['2026-07-28', 'json-schema-ref-no-deref', 1],
  ['2026-07-28', 'sep-2322-client-request-state', 5],
  ['2026-07-28', 'auth/client-credentials-basic', 6],
  ['2026-07-28', 'auth/client-credentials-jwt', 6],
  ['2025-11-25', 'initialize', 1],
  ['2025-11-25', 'tools_call', 2],
] as const;

/** Scenarios that are left out, with the reason. */
const notApplicable = [
  [
    ['metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'pre-registration']
      .concat(['scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined'])
      .concat(['scope-step-up', 'scope-retry-limit', 'token-endpoint-auth-basic', 'token-endpoint-auth-post'])
      .concat(['token-endpoint-auth-none', '2025-03-26-oauth-metadata-backcompat'])
      .concat(['2025-03-26-oauth-endpoint-fallback', 'resource-mismatch', 'offline-access-scope'])
      .concat(['offline-access-not-supported', 'authorization-server-migration', 'iss-supported'])
      .concat(['iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected'])
      .concat(['iss-normalized', 'metadata-issuer-mismatch'])
      .map((name) => `auth/${name}`),
    'a person signs in with a browser (authorization code); here nobody is there to do so',
  ],
  [
    ['enterprise-managed-authorization', 'dpop', 'dpop-nonce', 'wif-jwt-bearer'].map((name) => `auth/${name}`),
    'grants and proofs that are not supported',
  ],
  [
    ['elicitation-sep1034-client-defaults'],
    'questions of 2025-11-25 servers are not answered, and elicitation is not declared',
  ],
  [['json-schema-2020-12-preservation'], 'schemas of tools are read for their headers and handed to nobody'],
  [['sse-retry'], 'a stream that breaks is not taken up again: the start is ambiguous, and a read is repeated'],
  [
    ['no-prefetch', 'verify-digest', 'verify-size', 'verify-frontmatter'].map((name) => `sep-2640-client-${name}`),
    'skills are not used',
  ],
] as const;

let client: Program;
let results: string;
beforeAll(async () => {
  client = await bundleProgram('interop/conformance-client-process');
  results = await mkdtemp(join(tmpdir(), 'outwait-conformance-'));
});
afterAll(async () => {
  await client.remove();
  await rm(results, { recursive: true, force: true });
});

describe('the MCP conformance suite', () => {
  it.each(scenarios)(
    '%s: the scenario %s passes',
    async (revision, scenario, passed) => {
      const version = ['--spec-version', revision, '--force'];
      const command = ['--command', `${process.execPath} ${client.path}`];
      const printed = await runConformance('client', ...command, '--scenario', scenario, ...version, '-o', results);
      expect(printed).toContain(`Passed: ${passed}/${passed}, 0 failed, 0 warnings`);
    },
    90_000,
  );

  it('has no scenario for clients that is neither run nor left out for a reason', async () => {
    const listed = [...(await runConformance('list', '--client')).matchAll(/^ {2}- (\S+)/gm)].map(
      ([, name = '']) => name,
    );
    const known: readonly string[] = [
      ...scenarios.map(([, name]) => name),
      ...notApplicable.flatMap(([names]) => names),
    ];
    expect(listed.sort()).toEqual([...new Set(known)].sort());
  });
});

import type { Caller } from '../../../../lib/base/caller.js';
import type { ServeConfig } from '../../../../lib/workflow/serve.js';
import type { Case } from '../timetable.js';

/** Returns the callers of served workflows; of a case with tenants, one of each tenant. */
export function callers({ tenants }: Pick<Case, 'tenants'>): readonly Caller[] {
  const roles = ['call'] as const;
  if (tenants === undefined) return ['ann', 'bob'].map((id) => ({ id, roles }));
  return ['acme', 'globex'].map((tenant) => ({ id: `user of ${tenant}`, tenant, roles }));
}

/** Returns who owns what a caller starts. */
export const ownerOf = ({ id, tenant }: { readonly id: string; readonly tenant?: string | undefined }): string =>
  `${id} ${tenant ?? ''}`;

export function serveConfig({ served }: Pick<Case, 'served'>): ServeConfig {
  const context = served?.deskQueues === true ? 'queue' : 'parallel';
  return {
    agent: { name: 'Desk', description: 'Does things' },
    skills: { desk: { description: 'Works', context } },
    onMessage: 'chat',
  };
}

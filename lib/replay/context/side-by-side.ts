import type { WorkflowContext } from '../../workflow/context.js';
import { Scope } from '../waits/scope.js';
import type { ContextHost } from './host.js';
import { cancelled } from './scopes.js';

export type Branch<Result> = (ctx: WorkflowContext) => Promise<Result>;

/** Branches that are closed together, each in its own scope. */
export interface SideBySide {
  readonly scopes: readonly Scope[];
  readonly begin: <Result>(branch: Branch<Result>, at: number) => Promise<Result>;
  /** Rejects their open waits, and all later ones. */
  readonly close: () => void;
}

/** Creates the scopes of `count` branches within `scope`. `why` they are closed is for the error of their waits. */
export function sideBySide(host: ContextHost, scope: Scope, count: number, why: string): SideBySide {
  const scopes = Array.from({ length: count }, () => new Scope(scope));
  return {
    scopes,
    begin: (branch, at) => branch(host.contextOf(scopes[at] ?? scope)),
    close: () => {
      for (const one of scopes) host.waits.cancelScope(one, cancelled(why));
    },
  };
}

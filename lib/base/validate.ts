import type { StandardSchemaV1 } from '@standard-schema/spec';
import { issuePath } from './schema-issue.js';

/** What a schema found. */
export interface FoundIssue {
  /** Empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

export type Validated =
  | { readonly isValid: true; readonly value: unknown }
  | { readonly isValid: false; readonly issues: readonly FoundIssue[] };

/** Issues as one line, each with its path. */
export function textOfIssues(issues: readonly FoundIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** Beyond this many nobody reads on. */
const issuesRead = 1_000;

/**
 * What a schema makes of a value, at once where it answers at once. Never throws or rejects: a schema is an author's code,
 * which may throw, reject, or answer with what is no answer; all of that is an issue of the value.
 */
export function validate(schema: StandardSchemaV1, value: unknown): Validated | Promise<Validated> {
  try {
    const answer: unknown = schema['~standard'].validate(value);
    return isThenable(answer) ? Promise.resolve(answer).then(readAnswer, schemaThrew) : readAnswer(answer);
  } catch (error) {
    return schemaThrew(error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/** What a schema has answered. Never throws. */
export function readAnswer(answer: unknown): Validated {
  try {
    if (typeof answer !== 'object' || answer === null) return invalid('the schema gave no answer');
    const { issues } = answer as { readonly issues?: unknown };
    if (issues === undefined) return { isValid: true, value: (answer as { readonly value?: unknown }).value };
    if (!Array.isArray(issues)) return invalid('the schema gave issues that are no list');
    return { isValid: false, issues: issues.slice(0, issuesRead).map(readIssue) };
  } catch (error) {
    return schemaThrew(error);
  }
}

export function schemaThrew(thrown: unknown): Validated {
  return invalid(`the schema threw: ${messageOf(thrown)}`);
}

function invalid(message: string): Validated {
  return { isValid: false, issues: [{ path: '', message }] };
}

function readIssue(issue: unknown): FoundIssue {
  try {
    const { message } = issue as { readonly message?: unknown };
    return {
      path: issuePath(issue as StandardSchemaV1.Issue).toWellFormed(),
      message: typeof message === 'string' ? message.toWellFormed() : 'an issue without a text',
    };
  } catch {
    return { path: '', message: 'an issue that cannot be read' };
  }
}

/** An author may throw anything, also what throws when it is looked at. */
function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown.message.toWellFormed();
    return typeof thrown === 'string' ? thrown.toWellFormed() : `a value of type ${typeof thrown}`;
  } catch {
    return 'what cannot be read';
  }
}

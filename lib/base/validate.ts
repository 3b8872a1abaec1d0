import type { StandardSchemaV1 } from '@standard-schema/spec';
import { issuePath } from './schema-issue.js';

/** An issue that a schema found. */
export interface FoundIssue {
  /** Path of the issue; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

export type Validated =
  | { readonly isValid: true; readonly value: unknown }
  | { readonly isValid: false; readonly issues: readonly FoundIssue[] };

/** Returns the issues as one line, each with its path. */
export function textOfIssues(issues: readonly FoundIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** Most issues that are read; the rest are ignored. */
const issuesRead = 1_000;

/**
 * Validates a value with a schema, synchronously if the schema is. Never throws or rejects: a schema is an author's
 * code, which may throw, reject, or return an invalid result; each of these becomes an issue of the value.
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

/** Reads the result of a schema. Never throws. */
export function readAnswer(answer: unknown): Validated {
  try {
    if (typeof answer !== 'object' || answer === null) return invalid('the schema returned no result');
    const { issues } = answer as { readonly issues?: unknown };
    if (issues === undefined) return { isValid: true, value: (answer as { readonly value?: unknown }).value };
    if (!Array.isArray(issues)) return invalid('the schema returned issues that are not a list');
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
      message: typeof message === 'string' ? message.toWellFormed() : 'an issue without a message',
    };
  } catch {
    return { path: '', message: 'an issue that cannot be read' };
  }
}

/** Returns a message for any thrown value, even one that throws when it is read. */
function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown.message.toWellFormed();
    return typeof thrown === 'string' ? thrown.toWellFormed() : `a value of type ${typeof thrown}`;
  } catch {
    return 'a value that cannot be read';
  }
}

// A result of a tool, read as data. Pure.

import { parseReplyJson, type NumberOverflow } from '../../base/bounded-json.js';
import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';

/** Data of a result: its structured content, and the JSON of its first text. */
export class ToolReply {
  readonly result: JsonObject;
  #text: { readonly value?: JsonValue; readonly overflow?: NumberOverflow } | undefined;

  constructor(result: JsonObject) {
    this.result = result;
  }

  at(path: string): JsonValue | undefined {
    return this.find(path)?.value;
  }

  /**
   * Returns the value at a path. The text counts if the structured content has nothing there: for a tool that returns
   * text, some servers put that whole text into the structured content.
   */
  find(path: string): { readonly value: JsonValue; readonly overflow?: NumberOverflow } | undefined {
    const names = path.split('.');
    const structured = valueAt(this.result['structuredContent'], names);
    if (structured !== undefined) return { value: structured };
    const { value: text, overflow } = this.#asJson();
    const value = valueAt(text, names);
    if (value === undefined) return undefined;
    return { value, ...defined({ overflow }) };
  }

  /** Text of the result, all pieces joined. */
  get texts(): string {
    return contentOf(this.result)
      .map((block) => block['text'])
      .filter((text) => typeof text === 'string')
      .join('\n');
  }

  /** Returns the data for display in an error, uncut, so that secrets in it are found. */
  shown(): string {
    const { structuredContent } = this.result;
    const text = structuredContent === undefined ? this.texts : JSON.stringify(structuredContent);
    return text === '' ? 'it is empty' : `it is ${text}`;
  }

  #asJson(): { readonly value?: JsonValue; readonly overflow?: NumberOverflow } {
    return (this.#text ??= parsed(contentOf(this.result).find(({ text }) => typeof text === 'string')?.['text']));
  }
}

function contentOf({ content }: JsonObject): readonly JsonObject[] {
  return Array.isArray(content) ? (content as readonly JsonValue[]).filter(isJsonObject) : [];
}

function parsed(text: JsonValue | undefined): { readonly value?: JsonValue; readonly overflow?: NumberOverflow } {
  if (typeof text !== 'string' || !/^\s*[{[]/.test(text)) return {};
  try {
    return parseReplyJson(text);
  } catch {
    return {};
  }
}

function valueAt(value: JsonValue | undefined, names: readonly string[]): JsonValue | undefined {
  return names.reduce<JsonValue | undefined>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as JsonObject)[name]
        : undefined,
    value,
  );
}

/** Whether `tools/call` was answered with a result: neither a task nor a question. */
export function isToolResult(result: JsonValue): result is JsonObject {
  return isJsonObject(result) && !isTask(result) && (Array.isArray(result['content']) || 'structuredContent' in result);
}

/** Whether a task of the protocol, or a question, came instead of the result of a tool. */
function isTask({ resultType = 'complete', task }: JsonObject): boolean {
  return resultType !== 'complete' || isJsonObject(task);
}

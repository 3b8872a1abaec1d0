import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../../lib/base/json.js';
import type { Artifact, Part, ServedTask, TaskMessage, TaskState } from '../../../../lib/serve/task/served-task.js';

// Tasks of any content that the engine can make.

const states: readonly TaskState[] = [
  ...(['submitted', 'working', 'input-required', 'auth-required'] as const),
  ...(['completed', 'failed', 'canceled', 'rejected'] as const),
];

const word = fc.string({ minLength: 1, maxLength: 12 });
/** Without -0 and keys that reach a prototype, which JSON or its readers lose. */
const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')) as JsonValue);
const object: fc.Arbitrary<JsonObject> = fc.dictionary(
  word.filter((name) => !/^(__proto__|data_part_compat)$/.test(name)),
  json,
  { minKeys: 1, maxKeys: 3, noNullPrototype: true },
);
const maybe = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: undefined });

/** Leaves out undefined members, which stored values do not have. */
export const clean = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** `hasTypes`: whether texts and data have media types, which 0.3 cannot say. */
function arbitraryPart(hasTypes: boolean): fc.Arbitrary<Part> {
  const details = { metadata: maybe(object), ...(hasTypes ? { mediaType: maybe(word) } : {}) };
  const file = { metadata: maybe(object), mediaType: maybe(word), filename: maybe(word) };
  // The types of the SDK lose data that is null.
  const data = json.filter((value) => value !== null);
  const raw = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  return fc.oneof(
    fc.record({ text: fc.string(), ...details }),
    fc.record({ data, ...details }),
    fc.record({ raw, ...file }),
    fc.record({ url: fc.webUrl(), ...file }),
  ) as unknown as fc.Arbitrary<Part>;
}

export function arbitraryTask({ hasTypes }: { readonly hasTypes: boolean }): fc.Arbitrary<ServedTask> {
  const parts = fc.array(arbitraryPart(hasTypes), { minLength: 1, maxLength: 3 });
  const message = fc.record({
    messageId: word,
    role: fc.constantFrom('user', 'agent'),
    parts,
    metadata: maybe(object),
  }) as fc.Arbitrary<TaskMessage>;
  const artifact = fc.record({
    artifactId: word,
    name: maybe(word),
    description: maybe(word),
    parts,
    metadata: maybe(object),
  }) as fc.Arbitrary<Artifact>;
  return fc
    .record({
      taskId: word,
      contextId: word,
      skill: word,
      status: fc.record({
        state: fc.constantFrom(...states),
        atMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
        message: maybe(message),
      }),
      history: fc.array(message, { maxLength: 3 }),
      artifacts: fc.array(artifact, { maxLength: 3 }),
      generation: fc.integer({ min: 1, max: 2 ** 40 }),
      metadata: maybe(object),
    })
    .map((task) => clean(task) as unknown as ServedTask);
}

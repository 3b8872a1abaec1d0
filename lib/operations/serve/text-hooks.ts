import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { jsonBytes } from '../../base/json-limit.js';
import { isList } from '../../base/list.js';
import type { ArtifactUpdated, ExternalWaitRequested, HistoryEvent, RunOutcome } from '../../history/event.js';
import { type AddressedQuestion, toCaller } from '../../history/question.js';
import type { RunHead } from '../../history/records.js';
import type { Part, TaskMessage } from '../../history/task-content.js';
import type { TextHook, TextInfo } from '../../workflow/serve.js';
import type { Deps } from '../deps.js';
import { inTime } from '../in-time.js';

/** Time limit of the hook for the texts of one message or commit; a hook that is late counts as one that throws. */
const hookMaxMs = 10_000;
/** How much longer a hook may make what it is given: there is room for that much more where it is stored. */
const growthMaxBytes = 16 * 1024;

/** Returns what the caller is told of events and outcome, after the hook. @throws whatever the hook throws */
export async function filteredForCaller(
  deps: Deps,
  { head, hook }: { readonly head: RunHead; readonly hook: TextHook },
  { events, outcome }: { readonly events: readonly HistoryEvent[]; readonly outcome?: RunOutcome | undefined },
): Promise<{ readonly events: readonly HistoryEvent[]; readonly outcome: RunOutcome | undefined }> {
  const info = infoOf(head);
  const work = Promise.all([
    Promise.all(events.map(async (event) => grownLittle(event, await toldEvent(event, hook, info)))),
    outcome === undefined ? undefined : toldOutcome(outcome, hook, info),
  ]);
  const [told, end] = await inTime(deps, hookMaxMs, work, late);
  return { events: told, outcome: outcome && end && grownLittle(outcome, end) };
}

function infoOf({ runId, workflow, task, owner }: RunHead): Omit<TextInfo, 'of'> {
  const taskId = task?.firstRunId ?? runId;
  return { workflow, taskId, contextId: task?.contextId ?? '', ...defined({ callerId: owner }) };
}

async function toldEvent(event: HistoryEvent, hook: TextHook, about: Omit<TextInfo, 'of'>): Promise<HistoryEvent> {
  const tell = (of: TextInfo['of']): Tell => textOf(hook, { ...about, of });
  if (event.type === 'ProgressReported')
    return { ...event, progress: await eachText(event.progress, tell('progress')) };
  if (event.type === 'ArtifactUpdated')
    return { ...event, artifact: await toldArtifact(event.artifact, tell('artifact')) };
  if (event.type === 'ExternalWaitRequested' && event.form?.to === toCaller)
    return toldQuestion(event, event.form, tell('question'));
  return event;
}

async function toldOutcome(outcome: RunOutcome, hook: TextHook, about: Omit<TextInfo, 'of'>): Promise<RunOutcome> {
  if (outcome.status === 'completed' && outcome.result !== undefined)
    return { ...outcome, result: await eachText(outcome.result, textOf(hook, { ...about, of: 'result' })) };
  // The caller is told nothing about other failures.
  if (outcome.status !== 'failed' || outcome.error.code !== 'TASK_REJECTED') return outcome;
  const message = await textOf(hook, { ...about, of: 'rejection' })(outcome.error.message);
  return { ...outcome, error: { ...outcome.error, message } };
}

async function toldArtifact(artifact: ArtifactUpdated['artifact'], tell: Tell): Promise<ArtifactUpdated['artifact']> {
  const { artifactId, parts, ...others } = artifact;
  return {
    artifactId,
    ...((await eachText(others, tell)) as typeof others),
    parts: await toldParts(parts, tell),
  };
}

/** A schema keeps what answers are checked against: only what it says to people goes through the hook. */
async function toldQuestion(
  event: ExternalWaitRequested,
  form: AddressedQuestion,
  tell: Tell,
): Promise<ExternalWaitRequested> {
  const { message, url, schema } = form;
  const told = {
    message: await tell(message),
    ...defined({
      url: url === undefined ? undefined : await tell(url),
      schema: schema && ((await toldSchema(schema, tell)) as JsonObject),
    }),
  };
  return { ...event, form: { ...form, ...told } };
}

async function toldSchema(schema: JsonValue, tell: Tell): Promise<JsonValue> {
  if (isList(schema)) return Promise.all(schema.map(async (one) => toldSchema(one, tell)));
  if (!isJsonObject(schema)) return schema;
  const fields = Object.entries(schema).map(async ([name, value]) => {
    const isSaid = (name === 'title' || name === 'description') && typeof value === 'string';
    return [name, isSaid ? await tell(value) : await toldSchema(value, tell)] as const;
  });
  return Object.fromEntries(await Promise.all(fields));
}

async function toldParts(parts: readonly Part[], tell: Tell): Promise<readonly Part[]> {
  return Promise.all(
    parts.map(async ({ mediaType, ...part }) => {
      // Bytes are no text.
      const { raw, ...said } = part as JsonObject;
      const told = (await eachText(said, tell)) as JsonObject;
      return { ...told, ...defined({ raw, mediaType }) } as unknown as Part;
    }),
  );
}

/**
 * Returns a message as its workflow hears it. @throws EngineError `INPUT_INVALID` if the hook throws: nothing is written,
 * and the sender is not told why
 */
export async function heardMessage(deps: Deps, message: TaskMessage, info: TextInfo): Promise<TaskMessage> {
  return heard(deps, message, info, async (tell) => ({ ...message, parts: await toldParts(message.parts, tell) }));
}

/** Returns the arguments of a skill likewise. */
export async function heardArguments(deps: Deps, given: JsonValue, info: TextInfo): Promise<JsonValue> {
  return heard(deps, given, info, async (tell) => eachText(given, tell));
}

async function heard<Value>(
  deps: Deps,
  given: Value,
  info: TextInfo,
  work: (tell: Tell) => Promise<Value>,
): Promise<Value> {
  const hook = deps.app.serve?.text?.incoming;
  if (hook === undefined) return given;
  try {
    return grownLittle(given, await inTime(deps, hookMaxMs, work(textOf(hook, info)), late));
  } catch {
    // Its error may hold the text.
    deps.log.warn('serve.text.incoming threw: a message was refused', { workflow: info.workflow, of: info.of });
    throw new EngineError('INPUT_INVALID', 'the message was refused');
  }
}

type Tell = (text: string) => Promise<string>;

function textOf(hook: TextHook, info: TextInfo): Tell {
  return async (text) => {
    const told: unknown = await hook(text, info);
    if (typeof told !== 'string') throw new TypeError('a hook of serve.text must return a string');
    return told.toWellFormed();
  };
}

/** Applies `tell` to every string in a value, but not to the names in objects. */
async function eachText(value: JsonValue, tell: Tell): Promise<JsonValue> {
  if (typeof value === 'string') return tell(value);
  if (isList(value)) return Promise.all(value.map(async (one) => eachText(one, tell)));
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).map(async ([name, one]) => [name, await eachText(one, tell)] as const);
  return Object.fromEntries(await Promise.all(fields));
}

function grownLittle<Value>(before: Value, after: Value): Value {
  const bytes = (value: Value): number => jsonBytes(value as JsonValue);
  if (bytes(after) <= bytes(before) + growthMaxBytes) return after;
  throw new RangeError(`a hook of serve.text may add at most ${growthMaxBytes} bytes`);
}

function late(): never {
  throw new Error(`a hook of serve.text did not answer within ${hookMaxMs / 1_000} s`);
}

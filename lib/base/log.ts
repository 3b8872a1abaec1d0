/**
 * Structured log: an event name, then fields. Fields never hold a token, a bearer token, a URL with a query, or a
 * payload.
 */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Shorter ids are cut out only where they stand alone. */
const plainIdMinChars = 4;

/**
 * Returns a text for the log without the id of a remote task, which servers like to repeat in their errors: who knows it
 * can ask some servers for the task.
 */
export function withoutTaskId(text: string, taskId: string | undefined): string {
  if (taskId === undefined || taskId === '') return text;
  if (taskId.length >= plainIdMinChars) return text.replaceAll(taskId, '[task]');
  const escaped = taskId.replace(/[^A-Za-z0-9]/g, String.raw`\$&`);
  return text.replace(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, 'g'), '[task]');
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a log each of whose lines begins with the fields of `context`, which is called for each line. A field of the
 * caller with the same name gets an underscore at the end of its name. Never throws for a field that cannot be read.
 */
export function withContext(log: Log, context: () => Fields): Log {
  const write =
    (level: keyof Log): Log['info'] =>
    (event, fields) => {
      log[level](event, inContext(context(), fields));
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function inContext(context: Fields, fields: unknown): Record<string, unknown> {
  try {
    if (fields instanceof Error) return { ...context, error: fields };
    const given = (fields ?? {}) as Fields;
    const named = Object.entries(given).map(([name, value]) => [name in context ? `${name}_` : name, value] as const);
    return { ...context, ...Object.fromEntries(named) };
  } catch {
    return { ...context, fields: 'cannot be read' };
  }
}

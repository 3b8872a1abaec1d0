import { AsyncLocalStorage } from 'node:async_hooks';
import type { RunId } from '../base/ids.js';
import type { Log } from '../base/log.js';
import { placesIn } from './source-maps.js';

/** A read, by the code of a workflow, of what is another at each replay. */
export interface OutsideRead {
  readonly runId: RunId;
  /** What was read, as `Date.now()`. */
  readonly what: string;
  /** What to use instead. */
  readonly instead: string;
  /** Where, as `/app/report.ts:12:7`, if the stack says so. */
  readonly place?: string;
}

/** The run whose code runs now. What its promises lead to is its code, too; a step beside it is not. */
const running = new AsyncLocalStorage<{ readonly runId: RunId; readonly tell: (read: OutsideRead) => void }>();

/** Windows that are open: the globals are others only meanwhile. */
let open = 0;
let restore = (): void => undefined;

/**
 * Returns how the code of workflows is watched: `onRead` hears of each read of the clock, of chance and of the
 * environment, and of each timer and request of the host. The reads work as ever.
 */
export function watchOutsideReads(
  onRead: (read: OutsideRead) => void,
): (runId: RunId, advance: () => Promise<void>) => Promise<void> {
  return async (runId, advance) => {
    if (open++ === 0) restore = setTraps();
    try {
      await running.run({ runId, tell: onRead }, advance);
    } finally {
      if (--open === 0) restore();
    }
  };
}

/** Returns a log whose lines are not the code of a workflow, which may write some of them: a logger reads the clock. */
export function unwatchedLog(log: Log): Log {
  const write =
    (level: keyof Log): Log[keyof Log] =>
    (event, fields) => {
      running.exit(() => {
        log[level](event, fields);
      });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

const clock = 'ctx.now()';
const chance = 'ctx.random() or ctx.uuid()';
const step = 'ctx.step()';

/** Replaces what can be read, and returns a function that puts it back. */
function setTraps(): () => void {
  const traps = [
    ...dateTraps(),
    ...calls(Math, ['random'], 'Math.', chance),
    ...calls(performance, ['now'], 'performance.', clock),
    ...calls(process.hrtime, ['bigint'], 'process.hrtime.', clock),
    ...calls(process, ['hrtime', 'uptime'], 'process.', clock),
    ...calls(globalThis.crypto, ['randomUUID', 'getRandomValues'], 'crypto.', chance),
    ...calls(globalThis, ['setTimeout', 'setInterval', 'setImmediate'], '', 'ctx.sleep()'),
    ...calls(globalThis, ['fetch'], '', step),
    trap(
      process,
      'env',
      (real: NodeJS.ProcessEnv) =>
        new Proxy(real, {
          get: (env, name, receiver) => {
            if (typeof name === 'string') noted(`process.env.${name}`, 'the input');
            return Reflect.get(env, name, receiver) as unknown;
          },
        }),
    ),
  ];
  return () => {
    for (const undo of traps.reverse()) undo();
  };
}

function dateTraps(): readonly (() => void)[] {
  return [
    trap(
      globalThis,
      'Date',
      (real: DateConstructor) =>
        new Proxy(real, {
          construct: (date, args, target) => {
            if (args.length === 0) noted('new Date()', clock);
            return Reflect.construct(date, args, target) as object;
          },
          apply: (date) => {
            noted('Date()', clock);
            return date();
          },
          get: (date, name) => {
            if (name !== 'now') return Reflect.get(date, name) as unknown;
            return () => {
              noted('Date.now()', clock);
              return date.now();
            };
          },
        }),
    ),
  ];
}

function calls<Owner extends object>(
  owner: Owner,
  names: readonly (keyof Owner & string)[],
  prefix: string,
  instead: string,
): readonly (() => void)[] {
  return names.map((name) =>
    trap(
      owner,
      name,
      (real) =>
        new Proxy(real as object, {
          apply: (call, self: unknown, args: unknown[]) => {
            noted(`${prefix}${name}()`, instead);
            return Reflect.apply(call as () => unknown, self, args) as unknown;
          },
        }),
    ),
  );
}

/** Replaces a property until the returned function is called; another replacement that has come meanwhile stays. */
function trap<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  wrap: (real: Owner[Name]) => object,
): () => void {
  const real = Object.getOwnPropertyDescriptor(owner, name);
  const wrapped = wrap(owner[name]);
  Object.defineProperty(owner, name, { value: wrapped, configurable: true, writable: true, enumerable: true });
  return () => {
    if (owner[name] !== wrapped) return;
    if (real === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, real);
  };
}

function noted(what: string, instead: string): void {
  const run = running.getStore();
  if (run === undefined || isNoting) return;
  isNoting = true;
  try {
    const place = placesIn(new Error().stack ?? '').find((each) => !ownPlace.test(each));
    // Node reads some variables itself.
    if (place?.startsWith('node:') === true) return;
    run.tell({ runId: run.runId, what, instead, ...(place === undefined ? {} : { place }) });
  } finally {
    isNoting = false;
  }
}

const ownPlace = /outside-reads\.[jt]s:/;
/** Finding the place reads variables, too. */
let isNoting = false;

import { foldHistory } from '../../../lib/history/run-state.js';
import type { HistoryEvent, RunOutcome } from '../../../lib/history/event.js';
import { toToken } from '../../../lib/store/items/token.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import type { Duration } from '../../../lib/base/time.js';
import type { InputHandler, WorkflowContext } from '../../../lib/workflow/context.js';
import type { RemoteOutcome } from '../../../lib/workflow/outcome.js';
import type { Scenario } from '../scenarios.js';
import { describe, simulate } from '../simulate.js';
import type { Deviation, Freeze, World, WorldOptions } from '../world.js';

/** A fault that happens once: at the first operation that fits, from this line's turn on. */
export interface Line {
  /**
   * Kind and number of the process, in the order in which they first do something: `turn 2`, `relay 1`. Without a
   * number: any of the kind.
   */
  readonly who: string;
  /** Beginning of the operation's tag, or a pattern of it. */
  readonly at: string | RegExp;
  /** Condition from which on the line applies. */
  readonly when?: (world: World, runId: string) => boolean;
  readonly what: Deviation | { readonly freezeUntil: (scene: SceneSoFar) => boolean };
}

export interface SceneSoFar {
  readonly world: World;
  readonly runId: string;
  /** Returns whether the line at that position has been played. */
  readonly played: (line: number) => boolean;
  readonly token: (waitId: string) => TokenRecord | undefined;
}

export interface Scene {
  readonly run: Scenario['run'];
  /** Duration of the task of each tool, in seconds. Default: endless. */
  readonly tools?: Readonly<Record<string, number>>;
  /** Whether the remote server deduplicates. Default: true. */
  readonly dedupes?: boolean;
  /** Whether the server can be asked for the task of a start. Default: false. */
  readonly finds?: boolean;
  /** `perhaps`: the server shows whether it can only when it is asked; `never`: it cannot. */
  readonly lists?: 'perhaps' | 'never';
  /** Seconds that it takes to answer a start, so that workers make its starts. Default: it is prompt. */
  readonly startsTakeS?: number;
  /** Number of questions that each tool asks before its task exists, and while it runs. */
  readonly asks?: Scenario['asks'];
  /** Whether there is a bus that receives lifecycle events. Default: false. */
  readonly bus?: boolean;
  readonly callers?: (world: World, runId: string) => void;
  /** Another version of the workflow, for the invocations that begin while this holds. */
  readonly other?: { readonly run: Scenario['run']; readonly isDeployed: (seconds: number) => boolean };
  /** Number of due shards over which the invocations that begin then spread their markers. Default: 16. */
  readonly dueShardsOf?: WorldOptions['dueShardsOf'];
  readonly script: readonly Line[];
  readonly endS?: number;
}

export interface Played {
  readonly world: World;
  readonly runId: string;
  readonly outcome: RunOutcome | undefined;
  /** Seconds from the start of the world; Infinity: never. */
  readonly endedAtS: number;
  readonly log: readonly HistoryEvent[];
  readonly token: (waitId: string) => TokenRecord | undefined;
  /** Violations that the oracles of the simulation report. */
  readonly violations: string;
  /** Lines that found no operation to fail: then the scene is not the intended one. */
  readonly unplayed: readonly string[];
}

/** Plays a scene from its start: one run, no randomness, and exactly the faults of the script. */
export async function play(scene: Scene): Promise<Played> {
  const open = new Map(scene.script.map((line, position) => [position, line]));
  const numbers = new Map<string, number>();
  const lastOfKind = new Map<string, number>();
  let soFar: SceneSoFar | undefined;

  const numberOf = (process: string, kind: string): number => {
    const known = numbers.get(process);
    if (known !== undefined) return known;
    const number = (lastOfKind.get(kind) ?? 0) + 1;
    lastOfKind.set(kind, number);
    numbers.set(process, number);
    return number;
  };
  const direct = (tag: string, process: string): Deviation | Freeze | undefined => {
    const kind = process.split('.')[0] ?? '';
    const name = `${kind} ${numberOf(process, kind)}`;
    for (const [position, { who, at, when, what }] of open) {
      if (who !== kind && who !== name) continue;
      if (!(typeof at === 'string' ? tag.startsWith(at) : at.test(tag))) continue;
      if (soFar === undefined || (when !== undefined && !when(soFar.world, soFar.runId))) continue;
      open.delete(position);
      const now = soFar;
      return typeof what === 'string' ? what : { freezeUntil: () => what.freezeUntil(now) };
    }
    return undefined;
  };
  const scenario: Scenario = {
    name: 'scene',
    run: scene.run,
    ...(scene.tools === undefined ? {} : { tools: scene.tools }),
    ...(scene.dedupes === undefined ? {} : { dedupes: scene.dedupes }),
    ...(scene.finds === undefined ? {} : { finds: scene.finds }),
    ...(scene.lists === undefined ? {} : { lists: scene.lists }),
    ...(scene.startsTakeS === undefined ? {} : { startsTakeS: scene.startsTakeS }),
    ...(scene.asks === undefined ? {} : { asks: scene.asks }),
    ...(scene.bus === undefined ? {} : { bus: scene.bus }),
    callers: (world, runId) => {
      const item = (sk: string) => world.items.get(`run#${runId} ${sk}`);
      soFar = {
        world,
        runId,
        played: (line) => !open.has(line),
        token: (waitId) => optional(item(`t#${waitId}`), toToken),
      };
      scene.callers?.(world, runId);
    },
  };
  const other = scene.other && {
    scenario: { ...scenario, run: scene.other.run },
    shareAt: (seconds: number): number => Number(scene.other?.isDeployed(seconds)),
  };
  const options = {
    seed: 1,
    direct,
    ...(other && { other }),
    ...(scene.dueShardsOf === undefined ? {} : { dueShardsOf: scene.dueShardsOf }),
    ...(scene.endS === undefined ? {} : { endS: scene.endS }),
  };
  // Each test checks itself how late its run ends.
  const { world, runId, endedAtMs } = await simulate(scenario, options, Infinity);
  return {
    world,
    runId,
    outcome: foldHistory(world.commits(runId)).ending,
    endedAtS: endedAtMs === undefined ? Infinity : world.secondsOf(endedAtMs),
    log: world.log(runId),
    token: (waitId) => optional(world.items.get(`run#${runId} t#${waitId}`), toToken),
    violations: describe(world),
    unplayed: [...open.values()].map(
      ({ who, at, what }) => `${who} ${typeof what === 'string' ? what : 'freeze'} at ${String(at)}`,
    ),
  };
}

/** Makes a remote call and returns the code of a failure. A cancel is thrown. */
export async function call(
  ctx: WorkflowContext,
  tool: string,
  options: { timeout?: Duration; retrySafe?: boolean; onInput?: InputHandler } = {},
): Promise<unknown> {
  try {
    const outcome: RemoteOutcome = await ctx.callRemoteTask({
      server: 'remote',
      tool,
      timeout: { hours: 6 },
      ...options,
    });
    return outcome.result;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === 'RUN_CANCELLED') throw error;
    return code;
  }
}

function optional<From, To>(value: From | undefined, to: (value: From) => To): To | undefined {
  return value === undefined ? undefined : to(value);
}

import type { EpochMs } from '../base/time.js';
import type { RemoteProgress, RunNews } from '../operations/views/follow-run.js';
import type { HistoryView } from '../operations/views/read-history.js';
import { EventTexts } from './describe-events.js';
import { counted } from './counted.js';
import { printable } from './printable.js';
import { paper, type Screen, styled } from './screen.js';
import { value, wrap } from './table.js';
import { isoTime, lengthOf } from './times.js';

// The events of a run as lines: of `outwait history` and `outwait watch`. On a terminal their times are relative to the
// first event of the run.

const gap = '  ';

/** Returns the last `limit` events of a history, or all of them, one per line. */
export function formatHistory(
  { events, uncommitted = [] }: HistoryView,
  screen: Screen = paper,
  limit = Infinity,
): string {
  if (events.length + uncommitted.length === 0) return 'no events yet';
  const lines = new EventLines(screen);
  const width = Math.max(4, ...events.map(({ seq }) => String(seq).length));
  const shown = [
    ...events.map((event) => lines.line(event.atMs, lines.texts.of(event), String(event.seq).padEnd(width))),
    ...uncommitted.map((event) => lines.line(event.atMs, lines.texts.of(event), 'next'.padEnd(width))),
  ];
  const left = Math.max(0, shown.length - limit);
  return [...(left === 0 ? [] : [`(${counted(left, 'earlier event')} left out)`]), ...shown.slice(left)].join('\n');
}

/** Lines of one run, as its news come. */
export class EventLines {
  readonly texts: EventTexts;
  readonly #screen: Screen;
  #firstAtMs: EpochMs | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.texts = new EventTexts(screen);
  }

  /** Returns what is new, one line for each event and each change of a remote task. */
  news({ events, progress }: RunNews): string {
    return [
      ...events.map((event) => this.line(event.atMs, this.texts.of(event))),
      ...progress.map((change) => this.line(change.atMs, this.#progress(change))),
    ].join('\n');
  }

  /** Returns a line with a time before it. */
  line(atMs: EpochMs, text: string, before = ''): string {
    this.#firstAtMs ??= atMs;
    const { width } = this.#screen;
    const when = width === undefined ? isoTime(atMs) : `+${lengthOf(atMs - this.#firstAtMs)}`.padEnd(8);
    const label = `${before}${before === '' ? '' : gap}${when}`;
    const shown = printable(text);
    const lines = width === undefined ? [shown] : wrap(shown, width - label.length - gap.length);
    return lines
      .map((line, at) =>
        at === 0 ? styled('faint', label, this.#screen) + gap + line : ' '.repeat(label.length + gap.length) + line,
      )
      .join('\n');
  }

  #progress(change: RemoteProgress): string {
    const of = `remote task on ${change.server} (wait ${change.waitId})`;
    if (change.kind === 'status')
      return `${of}: ${change.state}${change.note === undefined ? '' : `: "${change.note}"`}`;
    return `${of}: artifact ${value(change.artifact, this.#screen)}${change.lastChunk ? ', complete' : ''}`;
  }
}

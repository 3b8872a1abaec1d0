import { defineWorkflow } from 'outwait';
import { describe, expect, it } from 'vitest';
import { defineSchedule } from '../../lib/workflow/schedule.js';

const nothing = defineWorkflow({ name: 'nothing', run: async () => null });

/** A time zone, and one of its days from midnight to midnight, in UTC. */
type Day = readonly [timeZone: string, fromUtc: string, untilUtc: string];

/** Returns every tick of a pattern on that day. */
async function ticks(cron: string, [timeZone, fromUtc, untilUtc]: Day): Promise<readonly string[]> {
  const schedule = defineSchedule({ name: 'clock', workflow: nothing, cron, timeZone });
  const found: string[] = [];
  let at = await schedule.nextAfterMs(Date.parse(fromUtc) - 1);
  while (at !== undefined && at < Date.parse(untilUtc)) {
    found.push(new Date(at).toISOString().slice(0, 16));
    at = await schedule.nextAfterMs(at);
  }
  return found;
}

const springInBerlin: Day = ['Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29T22:00Z'];
const autumnInBerlin: Day = ['Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z'];
// Half an hour is skipped at 02:00, and half an hour is repeated before 02:00.
const springOnLordHowe: Day = ['Australia/Lord_Howe', '2026-10-03T13:30Z', '2026-10-04T13:00Z'];
const autumnOnLordHowe: Day = ['Australia/Lord_Howe', '2026-04-04T13:00Z', '2026-04-05T13:30Z'];
// The change is at midnight: the day begins at 01:00, or has 00:00 to 01:00 twice.
const springInHavana: Day = ['America/Havana', '2026-03-08T05:00Z', '2026-03-09T04:00Z'];
const autumnInHavana: Day = ['America/Havana', '2026-11-01T04:00Z', '2026-11-02T05:00Z'];
// The change at midnight repeats 23:00 of the day before.
const springInBeirut: Day = ['Asia/Beirut', '2026-03-28T22:00Z', '2026-03-29T21:00Z'];
const autumnInBeirut: Day = ['Asia/Beirut', '2026-10-23T21:00Z', '2026-10-24T22:00Z'];

describe('F20 a fixed time of cron', () => {
  it.each<[string, Day, string[]]>([
    ['30 2,14 * * *', springInBerlin, ['2026-03-29T01:00', '2026-03-29T12:30']],
    ['30 2 * * *', springInBerlin, ['2026-03-29T01:00']],
    // Both fall on the first instant after the gap and are one tick.
    ['0,30 2 * * *', springInBerlin, ['2026-03-29T01:00']],
    ['*/30 2 * * *', springInBerlin, ['2026-03-29T01:00']],
    ['* 2 * * *', springInBerlin, ['2026-03-29T01:00']],
    ['0,30 1-3 * * *', springInBerlin, ['00:00', '00:30', '01:00', '01:30'].map((at) => `2026-03-29T${at}`)],
    ['15 2 * * *', springOnLordHowe, ['2026-10-03T15:30']],
    ['30 0 * * *', springInHavana, ['2026-03-08T05:00']],
    ['0 0 * * 0', springInBeirut, ['2026-03-28T22:00']],
  ])('that the clocks leave out runs at the first instant after: %s', async (cron, day, expected) => {
    expect(await ticks(cron, day)).toEqual(expected);
  });

  it.each<[string, Day, string[]]>([
    ['30 2,14 * * *', autumnInBerlin, ['2026-10-25T00:30', '2026-10-25T13:30']],
    ['0,30 2 * * *', autumnInBerlin, ['2026-10-25T00:00', '2026-10-25T00:30']],
    ['*/30 2 * * *', autumnInBerlin, ['2026-10-25T00:00', '2026-10-25T00:30']],
    ['0-59/30 2 * * *', autumnInBerlin, ['2026-10-25T00:00', '2026-10-25T00:30']],
    ['45 1 * * *', autumnOnLordHowe, ['2026-04-04T14:45']],
    ['30 0 * * *', autumnInHavana, ['2026-11-01T04:30']],
    ['30 23 * * *', autumnInBeirut, ['2026-10-24T20:30']],
  ])('that comes twice runs once, the first time: %s', async (cron, day, expected) => {
    expect(await ticks(cron, day)).toEqual(expected);
  });
});

describe('F20 an interval of cron', () => {
  it.each<[string, Day, number]>([
    ['30 * * * *', springInBerlin, 23],
    ['30 * * * *', autumnInBerlin, 25],
    ['*/15 * * * *', springInBerlin, 92],
    ['*/15 * * * *', autumnInBerlin, 100],
    ['0 * * * *', springInHavana, 23],
    ['0 * * * *', autumnInHavana, 25],
    ['*/30 * * * *', springOnLordHowe, 47],
    ['*/30 * * * *', autumnOnLordHowe, 49],
  ])('runs in every hour that there is: %s', async (cron, day, count) => {
    const found = await ticks(cron, day);
    expect(found).toHaveLength(count);
    const instants = found.map((at) => Date.parse(`${at}Z`));
    expect(new Set(instants.slice(1).map((at, index) => at - (instants[index] ?? 0))).size).toBe(1);
  });
});

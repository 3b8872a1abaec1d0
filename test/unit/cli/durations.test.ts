import { expect, it } from 'vitest';
import { durationToMs } from '../../../lib/base/time.js';
import { durationArgument } from '../../../lib/cli/duration.js';

const second = 1_000;
const minute = 60_000;
const hour = 3_600_000;
const day = 86_400_000;

it.each([
  ['5m', 5 * minute],
  ['2h30m', 2 * hour + 30 * minute],
  ['2h 30m', 2 * hour + 30 * minute],
  ['1.5h', 1.5 * hour],
  ['90s', 90 * second],
  ['250ms', 250],
  ['1d12h', 1.5 * day],
  ['3 Days', 3 * day],
  ['1 hour 5 min', hour + 5 * minute],
  ['0s', 0],
  ['PT5M', 5 * minute],
  ['P1DT2H', day + 2 * hour],
  ['P2D', 2 * day],
  ['PT0.5S', second / 2],
  ['pt1h30m', 1.5 * hour],
  ['{"minutes":5}', 5 * minute],
])('%j is a duration on the command line (F45)', (text, ms) => {
  expect(durationToMs(durationArgument(text), 'it')).toBe(ms);
});

it.each([
  '',
  '5',
  'm',
  '5 5m',
  '5mm',
  'P',
  'PT',
  'P5M',
  'PT5',
  'P1DT',
  '1y',
  '1mo',
  '1w',
  '5m,',
  '1e3s',
  'constructor',
  '5 constructor',
  '{}',
  '[5]',
  '9999999d',
])('%j is refused as a duration, and what is right is said (F45)', (text) => {
  expect(() => durationArgument(text)).toThrow('such as 5m, 2h30m or PT5M');
});

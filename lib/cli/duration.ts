import { InvalidArgumentError } from 'commander';
import { type Duration, durationToMs } from '../base/time.js';

// Our own parser. Those on npm that know compound and ISO 8601 forms guess: one of them reads `5m junk` as five minutes,
// `5` as milliseconds and `P1DT2H` as two hours.

const units: Readonly<Record<string, keyof Duration>> = {
  ...{ d: 'days', day: 'days', days: 'days' },
  ...{ h: 'hours', hour: 'hours', hours: 'hours' },
  ...{ m: 'minutes', min: 'minutes', minute: 'minutes', minutes: 'minutes' },
  ...{ s: 'seconds', sec: 'seconds', second: 'seconds', seconds: 'seconds' },
  ...{ ms: 'milliseconds' },
};

const pairs = /^(?:\d+(?:\.\d+)?\s*[a-z]+\s*)+$/i;
const pair = /(\d+(?:\.\d+)?)\s*([a-z]+)/gi;
/** ISO 8601 with units of fixed length; a year and a month have none. */
const iso =
  /^P(?:(\d+(?:[.,]\d+)?)D)?(?:T(?=\d)(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;

/**
 * Parses a duration: `5m`, `2h30m`, `1.5 hours`, `PT5M`, or the JSON of the API such as `{"minutes":5}`. Units are days
 * to milliseconds, each at most once.
 * @throws InvalidArgumentError that says what is wrong
 */
export function durationArgument(text: string): Duration {
  try {
    const duration = readDuration(text.trim());
    durationToMs(duration, 'It');
    return duration;
  } catch (error) {
    const why = error instanceof Misread ? `${error.message} ` : '';
    throw new InvalidArgumentError(`${why}It must be a duration of at most 10 years, such as 5m, 2h30m or PT5M.`);
  }
}

class Misread extends Error {}

function readDuration(text: string): Duration {
  if (text.startsWith('{')) return JSON.parse(text) as Duration;
  if (/^\d+(\.\d+)?$/.test(text)) throw new Misread('It has no unit.');
  if (/^p/i.test(text)) return readIso(text);
  if (!pairs.test(text)) throw new Misread('It is not a number with a unit.');
  const duration: Partial<Record<keyof Duration, number>> = {};
  for (const [, number = '', word = ''] of text.matchAll(pair)) {
    const name = word.toLowerCase();
    const unit = Object.hasOwn(units, name) ? units[name] : undefined;
    if (unit === undefined) throw new Misread(`"${word}" is not a unit: d, h, m, s and ms are.`);
    if (duration[unit] !== undefined) throw new Misread(`It has ${unit} twice.`);
    duration[unit] = Number(number);
  }
  return duration;
}

function readIso(text: string): Duration {
  const parts = iso.exec(text.toUpperCase());
  if (parts === null) throw new Misread('ISO 8601 durations have days, hours, minutes and seconds here.');
  const [, days, hours, minutes, seconds] = parts;
  const given = Object.entries({ days, hours, minutes, seconds }).flatMap(([unit, number]) =>
    number === undefined ? [] : [[unit, Number(number.replace(',', '.'))] as const],
  );
  return Object.fromEntries(given);
}

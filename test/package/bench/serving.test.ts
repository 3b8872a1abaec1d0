import { beforeAll, expect, it } from 'vitest';
import { countServed } from '../../../bench/serving/count-served.js';
import { type Figure, isMet } from '../../../bench/figure.js';
import { openDatabase } from '../../../bench/stores.js';
import { describeWithDynoxide } from '../../support/dynoxide.js';

describeWithDynoxide('what a served task costs', () => {
  let figures: readonly Figure[];
  beforeAll(async () => {
    const database = await openDatabase();
    try {
      figures = await countServed(database);
    } finally {
      await database.close();
    }
  }, 60_000);

  const valueOf = (name: string): number | undefined => figures.find((figure) => figure.name === name)?.value;

  it('a served task of ten steps is started by one write, made in twelve more, and read by one request', () => {
    expect(valueOf('served.start.writeRequests')).toBe(1);
    expect(valueOf('served.10steps.writeRequests')).toBe(12);
    expect(valueOf('served.10steps.getTask.requests')).toBe(1);
    expect(valueOf('served.10steps.getTask.units')).toBeLessThanOrEqual(8);
  });

  it('each status of a pushed task is pushed, for at most two write units', () => {
    expect(valueOf('served.pushes')).toBe(12);
    expect(valueOf('served.push.writeUnits')).toBeLessThanOrEqual(2);
  });

  it('a task of ten thousand events is read within the time of its door', () => {
    expect(figures.filter((figure) => isMet(figure) === false)).toEqual([]);
  });
});

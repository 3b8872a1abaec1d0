import type { RunName } from '../../history/start-records.js';
import type { Item } from '../table.js';
import { fields, number, text } from './fields.js';

export const runNameFields = fields<RunName>({ runId: text, generation: number });

export const toRunName = (item: Item): RunName => runNameFields.read(item);

import { type Mutant, rules, storePart } from './mutant.js';

const itemLimits = 'lib/store/items/limits.ts';
const sealedTable = 'lib/store/sealed-table.ts';

export const itemsMutants: readonly Mutant[] = [
  {
    name: 'outcome-room-of-a-whole-item',
    rule: 'F01 the payloads of an item fit together, whatever comes first',
    file: itemLimits,
    edits: [
      { find: 'outcome: payload(64 * KiB)', replace: 'outcome: payload(300 * KiB)' },
      { find: 'questions: payload(24 * KiB)', replace: 'questions: payload(300 * KiB)' },
    ],
    caughtBy: rules('items', 'F01 together: five open'),
  },
  {
    name: 'progress-room-of-a-whole-item',
    rule: 'F01 what a long step reported leaves room for its result',
    file: itemLimits,
    edits: [
      { find: 'outcome: payload(64 * KiB)', replace: 'outcome: payload(300 * KiB)' },
      { find: 'stepProgress: payload(24 * KiB)', replace: 'stepProgress: payload(300 * KiB)' },
    ],
    caughtBy: rules('items', 'F01 together: a long step'),
  },
  {
    name: 'room-counted-before-sealing',
    rule: 'F01 the room of a payload is that of its sealed form',
    file: sealedTable,
    edits: [
      {
        find: 'const fits = Buffer.byteLength(sealed) <= inlineBytes;',
        replace: 'const fits = Buffer.byteLength(text) <= inlineBytes;',
      },
    ],
    caughtBy: rules('items', 'F01 sealed'),
  },
  {
    name: 'attributes-without-room',
    rule: 'F01 an attribute that was not counted is not stored',
    file: itemLimits,
    edits: [
      {
        find: "if (room === undefined || (typeof value === 'number') !== (room === 'number'))",
        replace: "if (room === undefined) continue; if ((typeof value === 'number') !== (room === 'number'))",
      },
    ],
    caughtBy: rules('items', 'F01 counted'),
  },
  {
    name: 'handles-without-bound',
    rule: 'F01 a commit takes in as many handles as it can be read back with',
    file: 'lib/decide/new-events.ts',
    edits: [{ find: 'if (bytes > commitHandlesMaxBytes) break;', replace: '' }],
    caughtBy: rules('items', 'F01 together: four hundred'),
  },
  {
    name: 'error-details-without-bound',
    rule: 'F01 the error of a run is small enough for its commit to be read back',
    file: 'lib/base/errors.ts',
    edits: [{ find: 'detailsBytes <= errorDetailsMaxBytes', replace: 'detailsBytes >= 0' }],
    caughtBy: rules('items', 'F01 together: a workflow'),
  },
  {
    name: 'marker-cleared-unread',
    rule: 'F06 the marker of a token is removed if it is the one that was read',
    file: storePart('tokens'),
    edits: [
      {
        find: 'const conditions = [dueStill(seen.dueAtMs), seen.hasHandle ? hasHandle : noHandle];',
        replace: 'const conditions = [itemExists];',
      },
    ],
    caughtBy: rules('gone', 'F06 marker that was read: the handle that a frozen start leaves later'),
  },
  {
    name: 'handle-of-the-same-millisecond',
    rule: 'F06 the marker of a token is removed if no handle has come since it was read',
    file: storePart('tokens'),
    edits: [
      {
        find: 'const conditions = [dueStill(seen.dueAtMs), seen.hasHandle ? hasHandle : noHandle];',
        replace: 'const conditions = [dueStill(seen.dueAtMs)];',
      },
    ],
    caughtBy: rules('gone', 'F06 marker that was read: the handle that a frozen start leaves in the same'),
  },
  {
    name: 'sealed-for-any-item-of-the-run',
    rule: 'F90 an encrypted payload opens in its item alone',
    file: sealedTable,
    edits: [{ find: 'return `${pk} ${sk} ${name}`;', replace: 'void sk; return `${pk} ${name}`;' }],
    caughtBy: rules('items', 'F90 bound'),
  },
  {
    name: 'former-seal-forgotten',
    rule: 'F90 what an earlier version sealed still opens',
    file: 'lib/store/cipher.ts',
    edits: [{ find: 'isFormer ? formerContext : context', replace: 'context' }],
    caughtBy: rules('items', 'F90 former'),
  },
  {
    name: 'plain-payloads-read-though-refused',
    rule: 'F90 a deployment that refuses payloads in the clear reads none',
    file: sealedTable,
    edits: [{ find: 'if (this.#cipher?.refusesPlaintext !== true) return sealed;', replace: 'return sealed;' }],
    caughtBy: rules('items', 'F90 in the clear'),
  },
];

import { createHash } from 'node:crypto';
import { EngineError, hasCode } from '../base/errors.js';
import { chunkBytes } from '../base/limits.js';
import { isSealed, type PayloadCipher } from './cipher.js';
import { checkFormat, formatAttribute, keepingNewer } from './items/format.js';
import { checkAttributes, payloadsOf } from './items/limits.js';
import { blobPartitionOf } from './items/keys.js';
import type { IndexPage, IndexQuery, Item, Key, Scalar, Table, TransactResult, Write, WriteResult } from './table.js';

/**
 * `a`: the chunks are the text. `u`: they are the base64 of its UTF-8, since a chunk must not end inside a character.
 */
const reference = /^1b:([0-9a-f]{32}):([1-9][0-9]*):([au])$/;

/**
 * The layer between records and table. Payloads are encrypted if there is a cipher; one for which its item has no room
 * is cut into chunks in a partition of its own, put before the item that refers to them. The room of each attribute
 * does not depend on the others, so an update that does not know its item cannot make it too large. Readers in any
 * replica undo both. Payloads arrive here compressed. Items of a newer format than this version knows are neither read
 * nor written: throws `HISTORY_FORMAT_UNKNOWN` instead.
 */
export class SealedTable implements Table {
  readonly #table: Table;
  readonly #cipher: PayloadCipher | undefined;

  constructor(table: Table, cipher?: PayloadCipher) {
    this.#table = table;
    this.#cipher = cipher;
  }

  async write(write: Write): Promise<WriteResult> {
    const result = await this.#table.write(keepingNewer(await this.#seal(write)));
    if (!result.ok) checkFormat(result.old);
    if (result.ok) return { ok: true, item: await this.#openWritten(result.item) };
    return { ok: false, old: result.old === undefined ? undefined : await this.#openWritten(result.old) };
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    const sealed = await Promise.all(writes.map((write) => this.#seal(write)));
    const result = await this.#table.transact(sealed.map(keepingNewer));
    if (result.ok) return result;
    for (const part of result.refused) checkFormat(part?.old);
    const refused = result.refused.map(async (part) => {
      if (part?.old === undefined) return part;
      return { old: await this.#openWritten(part.old) };
    });
    return { ok: false, refused: await Promise.all(refused) };
  }

  /** Opens the answer to a write, which may have been applied: if it cannot be read now, the result is unknown. */
  async #openWritten(item: Item): Promise<Item> {
    try {
      return await this.#open(item);
    } catch (error) {
      if (!hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      throw new EngineError('STORE_RESULT_UNKNOWN', `the answer to a write cannot be read: ${error.message}`);
    }
  }

  async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const item = await this.#table.get(key, withFormat(attributes));
    checkFormat(item);
    return item === undefined ? undefined : this.#open(item);
  }

  async queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    const found = await this.#table.queryPartition(pk, skPrefix, after, withFormat(attributes));
    found.forEach(checkFormat);
    return Promise.all(found.map((item) => this.#open(item)));
  }

  queryIndex(query: IndexQuery): Promise<IndexPage> {
    return this.#table.queryIndex(query);
  }

  async #seal(write: Write): Promise<Write> {
    if (write.kind === 'put')
      return { ...write, item: { ...write.item, ...(await this.#sealed(write.item, write.item)) } };
    checkAttributes(write.key, write.increment ?? {});
    return write.set === undefined ? write : { ...write, set: await this.#sealed(write.key, write.set) };
  }

  async #sealed<Attributes extends Readonly<Record<string, Scalar | undefined>>>(
    key: Key,
    attributes: Attributes,
  ): Promise<Attributes> {
    let stored = attributes;
    for (const [name, inlineBytes] of payloadsOf(key)) {
      const text = attributes[name];
      if (typeof text !== 'string') continue;
      const sealed = this.#cipher === undefined ? text : await this.#cipher.seal(text, contextOf(key, name));
      const fits = Buffer.byteLength(sealed) <= inlineBytes;
      stored = { ...stored, [name]: fits ? sealed : await this.#putChunks(key.pk, sealed) };
    }
    checkAttributes(key, stored);
    return stored;
  }

  /** Puts the chunks of a text. Their id is a digest of the text: putting the same text again has no effect. */
  async #putChunks(pk: string, whole: string): Promise<string> {
    const id = createHash('sha256').update(whole).digest('hex').slice(0, 32);
    const isAscii = Buffer.byteLength(whole) === whole.length;
    const text = isAscii ? whole : Buffer.from(whole).toString('base64');
    const count = Math.ceil(text.length / chunkBytes);
    await Promise.all(
      Array.from({ length: count }, (_, at) =>
        this.#table.write({
          kind: 'put',
          item: {
            pk: blobPartitionOf(pk),
            sk: chunkKey(id, at),
            chunk: text.slice(at * chunkBytes, (at + 1) * chunkBytes),
          },
          conditions: [],
        }),
      ),
    );
    return `1b:${id}:${count}:${isAscii ? 'a' : 'u'}`;
  }

  async #open(item: Item): Promise<Item> {
    let changed: Record<string, Scalar | undefined> | undefined;
    for (const [name] of payloadsOf(item)) {
      const stored = item[name];
      if (typeof stored !== 'string') continue;
      const text = name === 'blocked' ? await this.#openNote(item, stored) : await this.#openText(item, name, stored);
      if (text !== stored) changed = { ...changed, [name]: text };
    }
    return changed === undefined ? item : { ...item, ...changed };
  }

  /** Opens why a run is blocked. An unreadable reason is dropped: it must not block the run, and is soon rewritten. */
  async #openNote(key: Key, stored: string): Promise<string | undefined> {
    try {
      return await this.#openText(key, 'blocked', stored);
    } catch (error) {
      if (!hasCode(error, 'PAYLOAD_UNREADABLE')) throw error;
      return undefined;
    }
  }

  async #openText(key: Key, name: string, stored: string): Promise<string> {
    const match = reference.exec(stored);
    const sealed = match === null ? stored : await this.#readChunks(key.pk, match);
    if (!isSealed(sealed)) {
      if (this.#cipher?.refusesPlaintext !== true) return sealed;
      throw unreadable('it is not encrypted, and this deployment refuses plaintext');
    }
    if (this.#cipher === undefined) throw unreadable('it is encrypted, but no payload key is configured');
    return this.#cipher.open(sealed, contextOf(key, name), formerContextOf(key, name));
  }

  async #readChunks(pk: string, [, id = '', count, format]: RegExpExecArray): Promise<string> {
    const chunks = await this.#table.queryPartition(blobPartitionOf(pk), `${id}#`);
    if (chunks.length !== Number(count)) {
      throw unreadable(`${chunks.length} of its ${count ?? ''} chunks were found`);
    }
    const text = chunks.map(({ chunk }) => String(chunk)).join('');
    return format === 'u' ? Buffer.from(text, 'base64').toString('utf8') : text;
  }
}

/** Adds the format of an item, which is always checked, to the attributes to read. */
function withFormat(attributes: readonly string[] | undefined): readonly string[] | undefined {
  return attributes === undefined ? undefined : [...attributes, formatAttribute];
}

function chunkKey(id: string, at: number): string {
  return `${id}#${String(at).padStart(4, '0')}`;
}

/** Returns the only place where a sealed payload opens: its item and attribute. No partition has a space in it. */
function contextOf({ pk, sk }: Key, name: string): string {
  return `${pk} ${sk} ${name}`;
}

/** Returns the place as earlier versions named it: without the item. */
function formerContextOf({ pk }: Key, name: string): string {
  return `${pk} ${name}`;
}

function unreadable(why: string): EngineError {
  return new EngineError('PAYLOAD_UNREADABLE', `a stored payload cannot be read: ${why}`);
}

import { createHash } from 'node:crypto';
import { EngineError, hasCode } from '../base/errors.js';
import { chunkBytes } from '../base/limits.js';
import { isSealed, type PayloadCipher } from './cipher.js';
import { checkForm, formAttribute, keepingNewer } from './item-format.js';
import { blobPartitionOf, payloadAttributes } from './items.js';
import type { IndexPage, IndexQuery, Item, Key, Scalar, Table, TransactResult, Write, WriteResult } from './table.js';

/** `a`: the chunks are the text. `u`: they are the base64 of its UTF-8, since a chunk must not end inside a character. */
const reference = /^1b:([0-9a-f]{32}):([1-9][0-9]*):([au])$/;

/**
 * What lies between the records and the table: payloads are encrypted if there is a cipher, and one that is too large
 * for an item is cut into chunks in a partition of its own, put before the item that refers to them. Readers of any
 * replica undo both. Payloads arrive here compressed. Items of a newer form than this version knows are neither read
 * nor written: `HISTORY_FORMAT_UNKNOWN` is thrown instead.
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
    if (!result.ok) checkForm(result.old);
    if (result.ok) return { ok: true, item: await this.#openWritten(result.item) };
    return { ok: false, old: result.old === undefined ? undefined : await this.#openWritten(result.old) };
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    const sealed = await Promise.all(writes.map((write) => this.#seal(write)));
    const result = await this.#table.transact(sealed.map(keepingNewer));
    if (result.ok) return result;
    for (const part of result.refused) checkForm(part?.old);
    const refused = result.refused.map(async (part) => {
      if (part?.old === undefined) return part;
      return { old: await this.#openWritten(part.old) };
    });
    return { ok: false, refused: await Promise.all(refused) };
  }

  /** The write has been answered: if its answer cannot be read at the moment, "nothing was applied" would be a lie. */
  async #openWritten(item: Item): Promise<Item> {
    try {
      return await this.#open(item);
    } catch (error) {
      if (!hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      throw new EngineError('STORE_RESULT_UNKNOWN', `the answer to a write cannot be read: ${error.message}`);
    }
  }

  async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const item = await this.#table.get(key, withForm(attributes));
    checkForm(item);
    return item === undefined ? undefined : this.#open(item);
  }

  async queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    const found = await this.#table.queryPartition(pk, skPrefix, after, withForm(attributes));
    found.forEach(checkForm);
    return Promise.all(found.map((item) => this.#open(item)));
  }

  queryIndex(query: IndexQuery): Promise<IndexPage> {
    return this.#table.queryIndex(query);
  }

  async #seal(write: Write): Promise<Write> {
    if (write.kind === 'put') {
      const changed = await this.#sealAttributes(write.item.pk, write.item);
      return changed === undefined ? write : { ...write, item: { ...write.item, ...changed } };
    }
    const changed = write.set === undefined ? undefined : await this.#sealAttributes(write.key.pk, write.set);
    return changed === undefined ? write : { ...write, set: { ...write.set, ...changed } };
  }

  async #sealAttributes(
    pk: string,
    attributes: Readonly<Record<string, Scalar | undefined>>,
  ): Promise<Record<string, Scalar> | undefined> {
    const changed: Record<string, Scalar> = {};
    for (const name of payloadAttributes) {
      const text = attributes[name];
      if (typeof text !== 'string') continue;
      const sealed = this.#cipher === undefined ? text : await this.#cipher.seal(text, `${pk} ${name}`);
      const stored = Buffer.byteLength(sealed) > chunkBytes ? await this.#putChunks(pk, sealed) : sealed;
      if (stored !== text) changed[name] = stored;
    }
    return Object.keys(changed).length === 0 ? undefined : changed;
  }

  /** The id is a digest of the text: putting the same again changes nothing. */
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
    for (const name of payloadAttributes) {
      const stored = item[name];
      if (typeof stored !== 'string') continue;
      const text =
        name === 'blocked' ? await this.#openNote(item.pk, stored) : await this.#openText(item.pk, name, stored);
      if (text !== stored) changed = { ...changed, [name]: text };
    }
    return changed === undefined ? item : { ...item, ...changed };
  }

  /** Why a run is blocked: written anew while it is, also by a deployment with the wrong key. It must not block the run itself. */
  async #openNote(pk: string, stored: string): Promise<string | undefined> {
    try {
      return await this.#openText(pk, 'blocked', stored);
    } catch (error) {
      if (!hasCode(error, 'PAYLOAD_UNREADABLE')) throw error;
      return undefined;
    }
  }

  async #openText(pk: string, name: string, stored: string): Promise<string> {
    const match = reference.exec(stored);
    const sealed = match === null ? stored : await this.#readChunks(pk, match);
    if (!isSealed(sealed)) return sealed;
    if (this.#cipher === undefined) {
      throw new EngineError(
        'PAYLOAD_UNREADABLE',
        'a stored payload cannot be read: it is encrypted, and no payload key is configured',
      );
    }
    return this.#cipher.open(sealed, `${pk} ${name}`);
  }

  async #readChunks(pk: string, [, id = '', count, form]: RegExpExecArray): Promise<string> {
    const chunks = await this.#table.queryPartition(blobPartitionOf(pk), `${id}#`);
    if (chunks.length !== Number(count)) {
      throw new EngineError(
        'PAYLOAD_UNREADABLE',
        `a stored payload cannot be read: ${chunks.length} of its ${count ?? ''} chunks are there`,
      );
    }
    const text = chunks.map(({ chunk }) => String(chunk)).join('');
    return form === 'u' ? Buffer.from(text, 'base64').toString('utf8') : text;
  }
}

/** The form of an item is looked at whatever else is. */
function withForm(attributes: readonly string[] | undefined): readonly string[] | undefined {
  return attributes === undefined ? undefined : [...attributes, formAttribute];
}

function chunkKey(id: string, at: number): string {
  return `${id}#${String(at).padStart(4, '0')}`;
}

import { describe, expect, it } from 'vitest';
import { TokenKeys, type TokenKey } from '../../../lib/tokens/token-keys.js';

function key(keyId: string, byte: number): TokenKey {
  return { keyId, secret: new Uint8Array(32).fill(byte) };
}

const target = { runId: '0123456789abcdef0123456789abcdef', waitId: '7' };
const keys = new TokenKeys([key('k1', 1)]);
const token = keys.settleToken(target);

function codeOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return 'no error';
}

describe('a settle token', () => {
  it('names run, wait and key, and is the same each time', () => {
    // Relays keep tokens for as long as a wait is open, so another release must make the same one.
    expect(token).toBe('0123456789abcdef0123456789abcdef.7.k1.ZYevSBKNj_7ySmPbDFIiMIMZev_Sn-GZUsNBAlh98qs');
    expect(keys.settleToken(target)).toBe(token);
  });

  it('gives back its run and its wait', () => {
    expect(keys.parseSettleToken(token)).toEqual(target);
  });

  it('is verified by each key and made with the first, so that keys can be rotated', () => {
    const rotated = new TokenKeys([key('k2', 2), key('k1', 1)]);
    expect(rotated.parseSettleToken(token)).toEqual(target);
    expect(rotated.settleToken(target).split('.')[2]).toBe('k2');
    expect(codeOf(() => new TokenKeys([key('k2', 2)]).parseSettleToken(token))).toBe('TOKEN_INVALID');
  });

  const [runId = '', waitId = '', keyId = '', mac = ''] = token.split('.');
  const lastSpelling = mac.slice(0, -1) + nextInAlphabet(mac.slice(-1));

  it.each([
    ['empty', ''],
    ['cut short', token.slice(0, -1)],
    ['cut to three parts', `${runId}.${waitId}.${keyId}`],
    ['one part too many', `${token}.x`],
    ['of another run', `f${token.slice(1)}`],
    ['of another wait', `${runId}.8.${keyId}.${mac}`],
    ['of an unknown key', `${runId}.${waitId}.k9.${mac}`],
    ['with a run id that is none', `${runId.toUpperCase()}.${waitId}.${keyId}.${mac}`],
    ['with a wait id that is none', `${runId}.07.${keyId}.${mac}`],
    ['with a MAC of zeros', `${runId}.${waitId}.${keyId}.${'A'.repeat(43)}`],
    ['in another spelling of the same bytes', `${runId}.${waitId}.${keyId}.${lastSpelling}`],
    ['with padding', `${token}=`],
    ['with space around it', ` ${token}`],
    ['with a line end', `${token}\n`],
  ])('%s is refused, and the answer tells nothing', (_, forged) => {
    expect(() => keys.parseSettleToken(forged)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID', message: 'no wait is known for this token' }) as Error,
    );
  });

  it('has another spelling of the same bytes, which is why the text is compared', () => {
    expect(Buffer.from(lastSpelling, 'base64url').equals(Buffer.from(mac, 'base64url'))).toBe(true);
    expect(lastSpelling).not.toBe(mac);
  });

  it('made by another key of the same name is refused', () => {
    expect(codeOf(() => new TokenKeys([key('k1', 9)]).parseSettleToken(token))).toBe('TOKEN_INVALID');
  });

  it('cannot be made from what is signed for another purpose', () => {
    const runIdMac = Buffer.from(keys.keyedRunId(runId, waitId), 'hex').toString('base64url');
    expect(mac.startsWith(runIdMac.slice(0, 20))).toBe(false);
    expect(codeOf(() => keys.parseSettleToken(`${runId}.${waitId}.${keyId}.${runIdMac}`))).toBe('TOKEN_INVALID');
  });
});

describe('the run id of a start with a key', () => {
  it('is fixed by workflow and key', () => {
    expect(keys.keyedRunId('monthlyReport', '2026-10')).toBe('ce19b80397511ee3100d9b400ecedd2f');
    expect(keys.keyedRunId('monthlyReport', '2026-11')).not.toBe(keys.keyedRunId('monthlyReport', '2026-10'));
    expect(keys.keyedRunId('otherReport', '2026-10')).not.toBe(keys.keyedRunId('monthlyReport', '2026-10'));
  });

  it('tells where the name ends and the key begins', () => {
    expect(keys.keyedRunId('ab', 'c')).not.toBe(keys.keyedRunId('a', 'bc'));
  });

  it('stays the same when a new key is put before the old one', () => {
    expect(new TokenKeys([key('k2', 2), key('k1', 1)]).keyedRunId('w', 'k')).toBe(keys.keyedRunId('w', 'k'));
  });
});

describe('a set of keys', () => {
  it.each<[string, readonly TokenKey[]]>([
    ['none', []],
    ['one that is too short', [{ keyId: 'k1', secret: new Uint8Array(31) }]],
    ['one whose id has a dot', [key('k.1', 1)]],
    ['one without an id', [key('', 1)]],
  ])('is refused when there is %s', (_, given) => {
    expect(codeOf(() => new TokenKeys(given))).toBe('CONFIG_INVALID');
  });
});

/**
 * Returns the next character. The last of 43 base64url characters carries 4 bits of 6, so its neighbour decodes to the
 * same byte.
 */
function nextInAlphabet(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet.charAt(alphabet.indexOf(character) ^ 1);
}

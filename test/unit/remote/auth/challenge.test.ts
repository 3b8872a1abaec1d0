import { describe, expect, it } from 'vitest';
import { readChallenge } from '../../../../lib/remote/auth/challenge.js';

describe('readChallenge', () => {
  it.each([
    ['Bearer', {}],
    ['bearer realm=x', {}],
    ['Bearer resource_metadata="https://a/b?c=d,e"', { resourceMetadata: 'https://a/b?c=d,e' }],
    ['Bearer error="insufficient_scope", scope="a  b"', { error: 'insufficient_scope', scopes: ['a', 'b'] }],
    ['Bearer scope="a", Basic realm="b", error="c"', { scopes: ['a'] }],
    ['Basic realm="a, b", BEARER scope = "x\\"y"', { scopes: ['x"y'] }],
    ['Bearer scope=""', {}],
  ])('reads %s', (header, challenge) => {
    expect(readChallenge(header)).toEqual(challenge);
  });

  it.each([undefined, '', 'Basic realm="x"', 'Bearertoken realm="x"', 'DPoP algs="ES256"'])(
    'finds none in %s',
    (header) => {
      expect(readChallenge(header)).toBeUndefined();
    },
  );
});

import { describe, expect, it } from 'vitest';
import { parseTurnMessage } from '../../lib/aws/messages.js';
import { oneTurnFor } from '../../lib/queue/one-turn.js';

const runId = 'a'.repeat(32);

describe('a turn message', () => {
  it('says what has come, or does not', () => {
    expect(parseTurnMessage(JSON.stringify({ runId }))).toEqual({ runId });
    const news = [{ waitId: '3' }, { inboxId: 'signal-2-go-k' }];
    expect(parseTurnMessage(JSON.stringify({ runId, news }))).toEqual({ runId, news });
  });

  it.each([[[{ waitId: '3' }, { somethingNew: 1 }]], [[{ waitId: 'x/y' }]], ['3'], [{}]])(
    'whose news this version does not know asks for a turn that looks at all: %j',
    (news) => {
      expect(parseTurnMessage(JSON.stringify({ runId, news }))).toEqual({ runId });
    },
  );
});

describe('messages of one run that are there together', () => {
  it('ask for one turn, with the news of all', () => {
    const messages = [
      { runId, news: [{ waitId: '3' }] },
      { runId, news: [{ inboxId: 'i' }, { waitId: '4' }] },
    ];
    expect(oneTurnFor(messages)).toEqual({ runId, news: [{ waitId: '3' }, { inboxId: 'i' }, { waitId: '4' }] });
  });

  it('ask for one that looks at all when one of them does not say what has come', () => {
    expect(oneTurnFor([{ runId, news: [{ waitId: '3' }] }, { runId }])).toEqual({ runId });
    expect(oneTurnFor([])).toBeUndefined();
  });
});

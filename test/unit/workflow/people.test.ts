import { defineApp, secret, snsTopic, webhookTo } from 'outwait';
import { describe, expect, it } from 'vitest';
import { secretsOfApp } from '../../../lib/aws/app-secrets.js';
import type { People } from '../../../lib/workflow/people.js';

const good = `whsec_${Buffer.alloc(24).toString('base64')}`;

describe('people of an app', () => {
  it('are receivers with secrets by reference, a default and a link', () => {
    const people: People = {
      receivers: {
        desk: webhookTo({ url: secret('DESK_URL'), secret: [secret('DESK_NEW'), good] }),
        boss: snsTopic({ topicArn: 'arn:aws-us-gov:sns:us-gov-west-1:123456789012:boss.fifo' }),
      },
      default: 'boss',
      link: 'https://desk.example.com/?q={inputId}',
    };
    const app = defineApp({ workflows: [], people });
    expect(app.people).toEqual(people);
    expect(secretsOfApp(app).map(({ name }) => name)).toEqual(['DESK_NEW', 'DESK_URL']);
    expect(defineApp({ workflows: [] })).not.toHaveProperty('people');
  });

  it.each([
    [{ 'a b': { kind: 'sns' } }, {}, 'people.receivers: "a b" must be letters'],
    [{ desk: {} }, {}, 'people.receivers.desk must come from webhookTo() or snsTopic()'],
    [{ desk: undefined }, {}, 'people.receivers.desk must come from webhookTo() or snsTopic()'],
    [{}, { default: 'nobody' }, 'people.default must be the name of one of the receivers'],
    [{}, { link: 'https://desk.example.com/' }, 'people.link must be an http(s) URL that has {inputId} once'],
    [{}, { link: 'desk/{inputId}' }, 'people.link must be an http(s) URL'],
  ])('are refused: %j %j', (receivers, others, message) => {
    const people = { receivers, ...others } as unknown as People;
    expect(() => defineApp({ workflows: [], people })).toThrow(message);
  });

  it.each([
    [{ url: 'ftp://a.example' }, 'webhookTo: url must be'],
    [{ url: 'https://me:hidden@a.example' }, 'webhookTo: url must be'],
    [{ url: secret('') }, 'webhookTo: url must be'],
    [{ secret: 'hidden' }, 'webhookTo: secret: a secret must be whsec_'],
    [{ secret: 'whsec_aGlkZGVu' }, 'webhookTo: secret: a secret must be whsec_'],
    [{ secret: [] }, 'webhookTo: secret must be one'],
    [{ allowPrivateAddresses: 'false' }, 'webhookTo: allowPrivateAddresses must be'],
  ])('have no receiver with %j', (options, message) => {
    const create = () => webhookTo({ url: 'https://a.example/', secret: good, ...(options as object) });
    expect(create).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) as string }) as Error,
    );
    expect(create).not.toThrow(/hidden|aGlkZGVu/);
  });

  it('have no topic that is none', () => {
    expect(() => snsTopic({ topicArn: 'arn:aws:sqs:eu-central-1:1:x' })).toThrow('snsTopic: topicArn must be');
  });
});

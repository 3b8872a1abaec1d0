import { defineApp, secret, snsTopic, webhookTo } from 'outwait';
import { describe, expect, it } from 'vitest';
import { secretsOfApp } from '../../../lib/aws/app-secrets.js';
import type { People } from '../../../lib/workflow/people.js';

const good = `whsec_${Buffer.alloc(24).toString('base64')}`;
const to = (options: object) => ({
  receivers: { desk: webhookTo({ url: 'https://a.example/', secret: good, ...options }) },
});

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
    [{ receivers: undefined }, 'people.receivers must be an object'],
    [{ receivers: { 'a b': snsTopic({ topicArn: 'x' }) } }, 'people.receivers: "a b" must be letters'],
    [{ receivers: { desk: {} } }, 'people.receivers.desk must come from webhookTo() or snsTopic()'],
    [{ receivers: { desk: snsTopic({ topicArn: 'arn:aws:sqs:eu-central-1:1:x' }) } }, 'people.receivers.desk.topicArn'],
    [to({ url: 'ftp://a.example' }), 'people.receivers.desk.url'],
    [to({ url: 'https://me:hidden@a.example' }), 'people.receivers.desk.url'],
    [to({ url: secret('') }), 'people.receivers.desk.url'],
    [to({ secret: 'hidden' }), 'people.receivers.desk.secret: a secret must be whsec_'],
    [to({ secret: 'whsec_aGlkZGVu' }), 'people.receivers.desk.secret: a secret must be whsec_'],
    [to({ secret: [] }), 'people.receivers.desk.secret must be one'],
    [to({ allowPrivateAddresses: 'false' }), 'people.receivers.desk.allowPrivateAddresses'],
    [{ ...to({}), default: 'nobody' }, 'people.default must be the name of one of the receivers'],
    [{ ...to({}), link: 'https://desk.example.com/' }, 'people.link must be an http(s) URL that has {inputId} once'],
    [{ ...to({}), link: 'desk/{inputId}' }, 'people.link must be an http(s) URL'],
  ])('are refused: %j', (people, message) => {
    const define = () => defineApp({ workflows: [], people: people as unknown as People });
    expect(define).toThrow(message);
    expect(define).not.toThrow(/hidden|aGlkZGVu/);
  });
});

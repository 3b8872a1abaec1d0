import { defined } from '../../base/defined.js';
import { EngineError, toStoredError } from '../../base/errors.js';
import type { Clock } from '../../base/time.js';
import { type Receiver, signingKeyOf, type SnsReceiver, type WebhookReceiver } from '../../workflow/people.js';
import type { SecretSource } from '../../workflow/server-auth.js';
import type { HttpClient, HttpReply, HttpRequest } from '../http/http.js';
import { retryAfterMs } from '../http/retry-after.js';
import { type Delivery, type Messenger, type NoticeMessage, noticeTimeoutMs } from '../messenger.js';
import { type AwsIdentityProvider, defaultAwsIdentity, SigV4Credentials } from '../auth/sigv4-credentials.js';
import { webhookHeaders } from '../http/sign-webhook.js';

export interface HttpMessengerDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly secrets: { read(source: SecretSource): Promise<{ reveal(): string } | undefined> };
  /** Default: the credentials of the process. */
  readonly awsIdentity?: AwsIdentityProvider;
}

/** `Messenger` over the guarded client: signed webhooks (Standard Webhooks), and SNS topics. */
export class HttpMessenger implements Messenger {
  readonly #deps: HttpMessengerDeps;
  readonly #awsIdentity: AwsIdentityProvider;

  constructor(deps: HttpMessengerDeps) {
    this.#deps = deps;
    this.#awsIdentity = deps.awsIdentity ?? defaultAwsIdentity();
  }

  async send(receiver: Receiver, message: NoticeMessage): Promise<Delivery> {
    try {
      const request =
        receiver.kind === 'webhook' ? await this.#webhook(receiver, message) : await this.#publish(receiver, message);
      // A receiver has nothing to say but its status; its body may be huge or endless.
      const reply = await this.#deps.http.send({ ...request, timeoutMs: noticeTimeoutMs, headOnly: true });
      return this.#deliveryOf(reply);
    } catch (error) {
      return { kind: 'failed', error: toStoredError(error, 'CONFIG_INVALID') };
    }
  }

  async #webhook(receiver: WebhookReceiver, { id, body }: NoticeMessage): Promise<HttpRequest> {
    const { url, secrets, allowPrivateAddresses } = receiver;
    const timestamp = String(Math.floor(this.#deps.clock.nowMs() / 1_000));
    const keys = await Promise.all(
      secrets.map(async (source) => {
        const key = signingKeyOf(await this.#reveal(source));
        if (key === undefined)
          throw new EngineError('CONFIG_INVALID', 'the secret of the receiver must be whsec_ and base64');
        return key;
      }),
    );
    return {
      url: typeof url === 'string' ? url : await this.#reveal(url),
      headers: {
        'content-type': 'application/json',
        ...webhookHeaders(keys, { id, timestamp, body }),
      },
      body,
      allowPrivateAddresses,
    };
  }

  async #publish({ topicArn }: SnsReceiver, { id, body, text, subject }: NoticeMessage): Promise<HttpRequest> {
    const [, partition = 'aws', , region = ''] = topicArn.split(':');
    const form = new URLSearchParams({
      Action: 'Publish',
      Version: '2010-03-31',
      TopicArn: topicArn,
      Subject: subject,
      MessageStructure: 'json',
      Message: JSON.stringify({ default: body, email: text, sms: text }),
      'MessageAttributes.entry.1.Name': 'webhook-id',
      'MessageAttributes.entry.1.Value.DataType': 'String',
      'MessageAttributes.entry.1.Value.StringValue': id,
    });
    if (topicArn.endsWith('.fifo')) {
      form.set('MessageGroupId', id.split('_', 1)[0] ?? id);
      form.set('MessageDeduplicationId', id);
    }
    const request: HttpRequest = {
      url: `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}/`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    };
    const signer = new SigV4Credentials({ service: 'sns', region }, this.#awsIdentity, this.#deps.clock);
    const presented = await signer.present(request);
    if (presented.kind === 'failed') throw new EngineError('REMOTE_UNREACHABLE', presented.error.message);
    return { ...request, headers: presented.headers };
  }

  /** @throws EngineError `CONFIG_INVALID` if there is no such secret, or what the reader throws */
  async #reveal(source: SecretSource): Promise<string> {
    const secret = await this.#deps.secrets.read(source);
    if (secret === undefined)
      throw new EngineError('CONFIG_INVALID', 'a secret of the receiver is missing in the environment of the function');
    return secret.reveal();
  }

  #deliveryOf(reply: HttpReply): Delivery {
    if (reply.kind !== 'reply') return { kind: 'failed', error: reply.error };
    const { status, headers } = reply;
    if (status >= 200 && status < 300) return { kind: 'taken' };
    if (status === 410) return { kind: 'gone' };
    return {
      kind: 'failed',
      error: { code: 'REMOTE_UNREACHABLE', message: `the receiver answered with status ${status}` },
      ...defined({ retryAfterMs: retryAfterMs(headers['retry-after'], this.#deps.clock.nowMs()) }),
    };
  }
}

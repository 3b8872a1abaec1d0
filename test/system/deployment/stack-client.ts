import type { JsonObject } from '../../../lib/base/json.js';
import type { Deployment } from './deployment.js';

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

export interface ExternalWait {
  readonly server?: string;
  readonly token: string;
}

interface OpenWait {
  readonly waitId: string;
  readonly kind: string;
}

/** A client of the API of a stack that has its outputs and may read the secret of the management token. */
export class StackClient {
  readonly #url: string;
  readonly #token: string;

  constructor({ outputs, secrets }: Pick<Deployment, 'outputs' | 'secrets'>) {
    this.#url = outputs['ApiUrl'] ?? '';
    this.#token = secrets.read(outputs['ManagementTokenSecret'] ?? '') ?? '';
  }

  async request(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as JsonObject };
  }

  /** Starts a run and returns its id. */
  async start(workflow: string, input: object): Promise<string> {
    const body = await this.#get('POST', '/runs', { workflow, input });
    return body['runId'] as string;
  }

  /** Waits until a wait of this kind is open, and returns the id of the first. */
  async waitOf(runId: string, kind: string): Promise<string> {
    for (let after = 0; ;) {
      const { waits } = (await this.#get('GET', `/runs/${runId}`)) as unknown as {
        readonly waits: readonly OpenWait[];
      };
      const found = waits.find((wait) => wait.kind === kind);
      if (found !== undefined) return found.waitId;
      const news = await this.#get('GET', `/runs/${runId}/events?after=${after}&wait=20`);
      after = news['nextAfter'] as number;
    }
  }

  async externalWaits(): Promise<readonly ExternalWait[]> {
    const { waits } = await this.#get('GET', '/activities/external');
    return waits as unknown as readonly ExternalWait[];
  }

  /** Waits for the end of a run. */
  async outcomeOf(runId: string): Promise<JsonObject> {
    for (;;) {
      const { outcome } = await this.#get('GET', `/runs/${runId}/result?wait=20`);
      if (outcome !== undefined) return outcome as JsonObject;
    }
  }

  async eventsOf(runId: string): Promise<readonly JsonObject[]> {
    const { events } = await this.#get('GET', `/runs/${runId}/history`);
    return events as unknown as readonly JsonObject[];
  }

  /** Sends a request and returns its body. @throws Error for an answer without success */
  async #get(method: 'GET' | 'POST', path: string, given?: object): Promise<JsonObject> {
    const { status, body } = await this.request(method, path, given);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }
}

import type { JsonObject, JsonValue } from '../../../lib/base/json.js';
import { routes } from '../../../lib/topology/routes.js';
import type { ValidRequest } from './scene.js';

/** A request as its bytes. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
  /** What was changed, for the report of a failure. */
  readonly change: string;
  /** Whether no server that keeps its contract may accept the request. */
  readonly mustBeRefused: boolean;
}

/** Draws numbers in [0, 1). */
export type Draw = () => number;

/** A valid request and the one thing to change in it. */
export interface Pair {
  readonly request: ValidRequest;
  readonly change: Change;
}

/** Returns every change that fits for every request. */
export function pairsOf(requests: readonly ValidRequest[]): readonly Pair[] {
  return requests.flatMap((request) =>
    changes.filter(({ fits }) => fits(request)).map((change) => ({ request, change })),
  );
}

/** Returns a valid request with one change of type, size, encoding, header or nesting. */
export function changed(draw: Draw, { request, change: { name, make, isFatal } }: Pair): SentRequest {
  return { ...make(draw, sent(request), request), change: name, mustBeRefused: isFatal };
}

/** Returns a request of which method, path, query, headers and body are drawn. */
export function random(draw: Draw, requests: readonly ValidRequest[]): SentRequest {
  const { path, method, headers } = pick(draw, requests);
  const body = draw() < 0.2 ? undefined : randomBytes(draw);
  return {
    method: draw() < 0.7 ? method : pick(draw, ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'BREW']),
    path: draw() < 0.6 ? path : `/${randomText(draw)}`,
    query: draw() < 0.5 ? '' : randomText(draw),
    headers: [
      ...Object.entries(headers).filter(() => draw() < 0.8),
      ...Array.from({ length: Math.floor(draw() * 3) }, () => [`x-${randomName(draw)}`, randomText(draw)] as const),
    ],
    body: method === 'GET' ? undefined : body,
    change: 'random',
    mustBeRefused: false,
  };
}

export interface Change {
  readonly name: string;
  readonly fits: (request: ValidRequest) => boolean;
  readonly make: (draw: Draw, base: SentRequest, request: ValidRequest) => SentRequest;
  readonly isFatal: boolean;
}

const hasBody = ({ body }: ValidRequest): boolean => body !== undefined;
/** Whether the route parses the body strictly. A hook takes any JSON, a push any object. */
const isStrict = (request: ValidRequest): boolean =>
  hasBody(request) && request.route !== 'receiveHook' && request.route !== 'receiveA2aPush';
const hasFields = (request: ValidRequest): boolean => isStrict(request) && leaves(request).length > 0;
const always = (): boolean => true;

const changes: readonly Change[] = [
  {
    name: 'type of a field',
    fits: hasFields,
    isFatal: true,
    make: (draw, base, request) => {
      const { path, value } = pick(draw, leaves(request));
      const others = [null, 7.5, true, [], {}, 'x'].filter((other) => kindOf(other) !== kindOf(value));
      return withJson(base, replaced(request.body ?? {}, path, pick(draw, others)));
    },
  },
  {
    name: 'type of the body',
    fits: isStrict,
    isFatal: true,
    make: (draw, base) => withJson(base, pick(draw, [null, 1, true, 'text', [], [{}]])),
  },
  {
    name: 'field missing',
    fits: hasFields,
    isFatal: false,
    make: (draw, base, request) =>
      withJson(base, replaced(request.body ?? {}, pick(draw, leaves(request)).path, undefined)),
  },
  {
    name: 'field unknown',
    fits: isStrict,
    isFatal: true,
    make: (draw, base, request) => withJson(base, { ...request.body, [`more${randomName(draw)}`]: 1 }),
  },
  {
    name: 'own __proto__ and constructor',
    fits: hasBody,
    isFatal: false,
    make: (_draw, base) =>
      withText(base, (text) => text.replace('{', '{"__proto__":{"key":"x"},"constructor":{"prototype":{"key":1}},')),
  },
  {
    name: 'size of a text',
    fits: (request) => leaves(request).some(({ value }) => typeof value === 'string'),
    isFatal: false,
    make: (draw, base, request) => {
      const texts = leaves(request).filter(({ value }) => typeof value === 'string');
      const size = pick(draw, [0, 129, 4_000, 70_000, 300_000]);
      return withJson(base, replaced(request.body ?? {}, pick(draw, texts).path, 'x'.repeat(size)));
    },
  },
  {
    name: 'size of a number',
    fits: (request) => leaves(request).some(({ value }) => typeof value === 'number'),
    isFatal: false,
    make: (draw, base, request) => {
      const numbers = leaves(request).filter(({ value }) => typeof value === 'number');
      const size = pick(draw, [-1, 0, 1e-9, 1e21, Number.MAX_SAFE_INTEGER, -0]);
      return withJson(base, replaced(request.body ?? {}, pick(draw, numbers).path, size));
    },
  },
  {
    name: 'size of the body',
    fits: hasBody,
    isFatal: true,
    // More than any route takes, and less than the gateway does.
    make: (_draw, base) => ({
      ...base,
      body: Buffer.concat([base.body ?? Buffer.alloc(0), Buffer.alloc(4_500_000, ' ')]),
    }),
  },
  {
    name: 'body cut short',
    fits: isStrict,
    isFatal: true,
    make: (draw, base) => ({ ...base, body: base.body?.subarray(0, Math.floor(draw() * (base.body.length - 1)) + 1) }),
  },
  {
    name: 'two bodies',
    fits: isStrict,
    isFatal: true,
    make: (_draw, base) => withText(base, (text) => `${text}${text}`),
  },
  {
    name: 'encoding in UTF-16',
    fits: hasBody,
    isFatal: true,
    make: (_draw, base) => ({ ...base, body: Buffer.from(base.body?.toString('utf8') ?? '', 'utf16le') }),
  },
  {
    name: 'bytes that are not UTF-8',
    fits: hasBody,
    isFatal: true,
    make: (_draw, base) => {
      const body = base.body ?? Buffer.alloc(0);
      const at = body.indexOf('"') + 1;
      return { ...base, body: Buffer.concat([body.subarray(0, at), Buffer.from([0xff, 0xc0]), body.subarray(at)]) };
    },
  },
  {
    name: 'charset',
    fits: hasBody,
    isFatal: false,
    make: (draw, base) =>
      withHeader(base, 'content-type', `application/json; charset=${pick(draw, ['utf-16', 'latin1', '"', 'utf-8;'])}`),
  },
  {
    name: 'content encoding',
    fits: hasBody,
    isFatal: false,
    make: (draw, base) => withHeader(base, 'content-encoding', pick(draw, ['gzip', 'br', 'identity', 'x'])),
  },
  {
    name: 'media type',
    fits: hasBody,
    isFatal: true,
    make: (draw, base) =>
      withHeader(base, 'content-type', pick(draw, ['text/plain', 'application/xml', 'json', '', 'application/json5'])),
  },
  {
    name: 'no media type',
    fits: hasBody,
    isFatal: true,
    make: (_draw, base) => withoutHeader(base, 'content-type'),
  },
  {
    name: 'no credential',
    fits: ({ headers }) => headers['authorization'] !== undefined,
    isFatal: true,
    make: (_draw, base) => withoutHeader(base, 'authorization'),
  },
  {
    name: 'forged credential',
    fits: ({ headers }) => headers['authorization'] !== undefined,
    isFatal: true,
    make: (draw, base) => {
      const given = credentialOf(base);
      const [, kept = '', end = ''] = /^(.*)(.)$/.exec(given) ?? [];
      return withHeader(base, 'authorization', pick(draw, [`${kept}${end === 'A' ? 'E' : 'A'}`, kept, `${given}x`]));
    },
  },
  {
    name: 'unreadable credential',
    fits: ({ headers }) => headers['authorization'] !== undefined,
    isFatal: true,
    make: (draw, base) => {
      const given = credentialOf(base);
      const wrong = [
        'Bearer',
        'Bearer  ',
        `Basic ${given.slice(7)}`,
        given.slice(7),
        `${given}, ${given}`,
        `${given} x`,
      ];
      return withHeader(base, 'authorization', pick(draw, wrong));
    },
  },
  {
    name: 'two credentials',
    fits: ({ headers }) => headers['authorization'] !== undefined,
    isFatal: true,
    make: (_draw, base) => ({
      ...base,
      headers: [...base.headers, ...base.headers.filter(([name]) => name === 'authorization')],
    }),
  },
  {
    name: 'header',
    fits: always,
    isFatal: false,
    make: (draw, base) =>
      withHeader(
        base,
        pick(draw, [
          'accept',
          'idempotency-key',
          'expect',
          'range',
          'if-match',
          'traceparent',
          'x-forwarded-for',
          'te',
        ]),
        pick(draw, ['', 'x'.repeat(4_000), '\u00ff\u00fe', '*/*;q=nonsense', '\t', '-1', '00-zz', ',,,']),
      ),
  },
  {
    name: 'nesting of a free field',
    fits: ({ free }) => free.length > 0,
    isFatal: true,
    make: (draw, base, request) => {
      const deep = pick(draw, [nestedLists(200), nestedObjects(100), nestedLists(5_000)]);
      const marked = JSON.stringify(replaced(request.body ?? {}, pick(draw, request.free), 'MARK'));
      return { ...base, body: Buffer.from(marked.replace('"MARK"', deep)) };
    },
  },
  {
    name: 'number of keys',
    fits: ({ free }) => free.length > 0,
    isFatal: true,
    make: (draw, base, request) => {
      const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`k${at}`, 0]));
      return withJson(base, replaced(request.body ?? {}, pick(draw, request.free), many));
    },
  },
  {
    name: 'lone surrogate',
    fits: ({ free }) => free.length > 0,
    isFatal: false,
    make: (draw, base, request) => withJson(base, replaced(request.body ?? {}, pick(draw, request.free), '\ud800')),
  },
  {
    name: 'unknown parameter',
    fits: ({ route }) => !['checkHealth', 'receiveHook'].includes(route),
    isFatal: true,
    make: (draw, base) => ({ ...base, query: `${base.query}${base.query === '' ? '' : '&'}x${randomName(draw)}=1` }),
  },
  {
    name: 'parameter',
    fits: ({ query }) => Object.keys(query).length > 0,
    isFatal: false,
    make: (draw, base, { query }) => {
      const name = pick(draw, Object.keys(query));
      const value = pick(draw, [
        '',
        '-1',
        '0',
        '1e9',
        '%00',
        '%ff',
        '%',
        'x'.repeat(3_000),
        '..',
        'null',
        '9'.repeat(40),
      ]);
      return { ...base, query: `${name}=${value}${draw() < 0.3 ? `&${name}=${value}` : ''}` };
    },
  },
  {
    name: 'first id in the path',
    fits: ({ ids }) => ids.length > 0,
    isFatal: true,
    make: (draw, base, { path, ids: [id = ''] }) => ({ ...base, path: path.replace(id, wrongId(draw)) }),
  },
  {
    name: 'last id in the path',
    fits: ({ ids }) => ids.length > 1,
    isFatal: true,
    make: (draw, base, { path, ids }) => {
      const at = path.lastIndexOf(ids.at(-1) ?? '');
      return { ...base, path: `${path.slice(0, at)}${wrongId(draw)}${path.slice(at + (ids.at(-1) ?? '').length)}` };
    },
  },
  {
    name: 'method',
    fits: always,
    isFatal: true,
    make: (draw, base, { path, method }) => {
      const taken = Object.values(routes)
        .filter((route) => isPathOf(route.path, path))
        .map((route) => route.method as string);
      const other = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW'].filter(
        (name) => name !== method && !taken.includes(name),
      );
      return { ...base, method: pick(draw, other) };
    },
  },
  {
    name: 'path with more',
    fits: always,
    isFatal: true,
    make: (draw, base) => ({ ...base, path: `${base.path}/${pick(draw, ['', 'x', '..', '.', '%2f', '%2e%2e'])}x` }),
  },
];

function sent({ method, path, query, headers, body }: ValidRequest): SentRequest {
  return {
    method,
    path,
    query: new URLSearchParams(query).toString(),
    headers: Object.entries(headers),
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    change: '',
    mustBeRefused: false,
  };
}

interface Leaf {
  readonly path: string;
  readonly value: JsonValue;
}

/** Returns the fields of the body that have a type of their own, as paths with dots. */
function leaves({ body, free }: ValidRequest): readonly Leaf[] {
  const found: Leaf[] = [];
  const visit = (value: JsonValue, path: string): void => {
    if (free.includes(path)) return;
    if (path !== '') found.push({ path, value });
    if (typeof value !== 'object' || value === null) return;
    for (const [name, part] of Object.entries(value)) visit(part, path === '' ? name : `${path}.${name}`);
  };
  visit(body ?? {}, '');
  return found;
}

function replaced(body: JsonObject, path: string, value: JsonValue | undefined): JsonObject {
  const copy = structuredClone(body) as Record<string, unknown>;
  const names = path.split('.');
  const last = names.pop() ?? '';
  const owner = names.reduce((at, name) => at[name] as Record<string, unknown>, copy);
  if (value === undefined) Reflect.deleteProperty(owner, last);
  else owner[last] = value;
  return copy as JsonObject;
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

function withJson(base: SentRequest, value: JsonValue): SentRequest {
  return { ...base, body: Buffer.from(JSON.stringify(value)) };
}

function withText(base: SentRequest, change: (text: string) => string): SentRequest {
  return { ...base, body: Buffer.from(change(base.body?.toString('utf8') ?? '')) };
}

function credentialOf({ headers }: SentRequest): string {
  return headers.find(([name]) => name === 'authorization')?.[1] ?? '';
}

function withHeader(base: SentRequest, name: string, value: string): SentRequest {
  return { ...base, headers: [...withoutHeader(base, name).headers, [name, value]] };
}

function withoutHeader(base: SentRequest, name: string): SentRequest {
  return { ...base, headers: base.headers.filter(([given]) => given !== name) };
}

function nestedLists(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

function nestedObjects(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

function wrongId(draw: Draw): string {
  const known = ['x', '%00', '%ff', '%', '..', '0'.repeat(32), 'A'.repeat(32), '%2e%2e%2f', '%C3%A9', ' ', '....'];
  return draw() < 0.8 ? pick(draw, known) : `~${randomName(draw)}`;
}

function isPathOf(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const expected = pattern.split('/');
  return parts.length === expected.length && expected.every((part, at) => part.startsWith('{') || part === parts[at]);
}

function randomName(draw: Draw): string {
  return Math.floor(draw() * 2 ** 32).toString(36);
}

function randomText(draw: Draw): string {
  const length = Math.floor(draw() * 40);
  return Array.from({ length }, () => String.fromCharCode(0x21 + Math.floor(draw() * 0x5d))).join('');
}

function randomBytes(draw: Draw): Buffer {
  if (draw() < 0.3)
    return Buffer.from(pick(draw, ['{', '[', '"', 'nul', '[1,]', '{"a":1}}', 'NaN', '1e999', '\u0000', '']));
  return Buffer.from(Array.from({ length: Math.floor(draw() * 200) }, () => Math.floor(draw() * 256)));
}

/** Returns one of a list that is not empty. */
export function pick<Entry>(draw: Draw, list: readonly Entry[]): Entry {
  return list[Math.floor(draw() * list.length)] as Entry;
}

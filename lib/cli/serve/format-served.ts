// Output of `outwait serve`, for a person.

import { skillSchemasExtension } from '../../base/a2a-extensions.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { formatRows, type Row, value } from '../table.js';
import { paper, type Screen } from '../screen.js';
import type { TaskNews } from './task-news.js';

/** Returns an agent card: what it is, where it is called, and its skills with what they take. */
export function formatCard(card: JsonObject, screen: Screen = paper): string {
  const { name, description, version, documentationUrl, provider, capabilities, securitySchemes } = card;
  const can = isJsonObject(capabilities) ? capabilities : {};
  const rows: Row[] = [
    ['agent', `${textOf(name)} (version ${textOf(version)})`],
    ['', textOf(description)],
  ];
  if (isJsonObject(provider)) rows.push(['provider', `${textOf(provider['organization'])} ${textOf(provider['url'])}`]);
  if (documentationUrl !== undefined) rows.push(['documents', textOf(documentationUrl)]);
  for (const { url, protocolBinding, protocolVersion } of objectsIn(card['supportedInterfaces']))
    rows.push(['interface', `${textOf(protocolBinding)} ${textOf(protocolVersion)} at ${textOf(url)}`]);
  const abilities = [
    ...(can['streaming'] === true ? ['streams'] : []),
    ...(can['pushNotifications'] === true ? ['pushes'] : []),
    ...(can['extendedAgentCard'] === true ? ['an extended card for callers'] : []),
  ];
  if (abilities.length > 0) rows.push(['has', abilities.join(', ')]);
  if (isJsonObject(securitySchemes)) rows.push(['access', Object.keys(securitySchemes).join(', ')]);
  const schemas = schemasIn(can);
  for (const skill of objectsIn(card['skills'])) rows.push(...skillRows(skill, schemas[textOf(skill['id'])], screen));
  return formatRows(rows, screen);
}

function skillRows(
  { id, name, description, tags, examples }: JsonObject,
  schema: JsonValue | undefined,
  screen: Screen,
): Row[] {
  const title = name === undefined || name === id ? '' : ` (${textOf(name)})`;
  // The rest of the description says how to send a message, which the command does.
  const [first = ''] = textOf(description).split('\n\n');
  const rows: Row[] = [['skill', `${textOf(id)}${title}: ${first}`]];
  if (Array.isArray(tags)) rows.push(['', `tags: ${(tags as readonly JsonValue[]).map(textOf).join(', ')}`]);
  if (isJsonObject(schema)) rows.push(['', `takes: ${value(schema['input'] ?? null, screen)}`]);
  if (Array.isArray(examples))
    for (const example of examples as readonly JsonValue[]) rows.push(['', `example: ${textOf(example)}`]);
  return rows;
}

function schemasIn({ extensions }: JsonObject): JsonObject {
  const extension = objectsIn(extensions).find(({ uri }) => uri === skillSchemasExtension);
  const { skills } = isJsonObject(extension?.['params']) ? extension['params'] : {};
  return isJsonObject(skills) ? skills : {};
}

/** Returns what came to a task. */
export function formatNews(news: TaskNews, screen: Screen = paper): string {
  switch (news.kind) {
    case 'task':
      return formatRows(
        [
          ['task', news.taskId],
          ['context', news.contextId],
        ],
        screen,
      );
    case 'status': {
      const { state, parts } = news;
      const label = state === 'input-required' ? 'asks' : state === 'auth-required' ? 'needs auth' : state;
      return formatRows(
        parts.length === 0
          ? [[label, '']]
          : parts.map((part, at) => [
              at === 0 ? label : '',
              isSchema(part) ? `expects ${shown(part['data'], screen)}` : textOfPart(part, screen),
            ]),
        screen,
      ).trimEnd();
    }
    case 'artifact': {
      const { artifactId, parts, append, isLast } = news;
      const label = `${artifactId}${append ? ', more' : ''}${isLast ? ', complete' : ''}`;
      return formatRows([['artifact', label], ...parts.map((part): Row => ['', textOfPart(part, screen)])], screen);
    }
    case 'unknown':
      return formatRows([['unknown', 'the agent has sent an event that this version does not know']], screen);
  }
}

function isSchema({ data }: JsonObject): boolean {
  return isJsonObject(data) && (data['schema'] !== undefined || data['url'] !== undefined);
}

function textOfPart({ text, data, url, filename, mediaType }: JsonObject, screen: Screen): string {
  if (text !== undefined) return textOf(text);
  if (data !== undefined) return shown(data, screen);
  const what = [filename, mediaType, url].filter((each) => each !== undefined).map(textOf);
  return `a file: ${what.join(' ')}`;
}

/** A question has its schema beside the text, and the page to open for a consent. */
function shown(data: JsonValue | undefined, screen: Screen): string {
  if (!isJsonObject(data)) return value(data ?? null, screen);
  const { schema, url } = data;
  return value(isJsonObject(schema) && url === undefined ? (schema['properties'] ?? schema) : data, screen);
}

function objectsIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? (list as readonly JsonValue[]).filter(isJsonObject) : [];
}

function textOf(given: JsonValue | undefined): string {
  return typeof given === 'string' ? given : value(given ?? null);
}

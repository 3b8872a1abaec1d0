// The file of types for the servers of an app. Pure. The same offers give the same text.

import type { Offer, Offers } from '../../remote/try/offers.js';
import { schemaType, type SchemaType } from './schema-type.js';
import { docComment, nameText } from './text.js';

const nameMaxChars = 256;
/** Tools, or skills, of one server. */
const offersMax = 1_000;
/** Text of one server: what comes later in its list is not checked but for its name. */
const serverMaxChars = 1_048_576;

/** A server and what is known of it; undefined for one that was not asked. */
export interface ServerOffers {
  readonly name: string;
  readonly offers: Exclude<Offers, { kind: 'unknown' }> | undefined;
}

/**
 * @param servers In the order of the file
 * @param command The one that writes the file, for its reader
 */
export function renderTypes(servers: readonly ServerOffers[], command: string): string {
  const body = servers.map(serverMember).join('');
  // Comments do not count: an import that nothing needs is an error for some.
  const isNeeded = body.split('\n').some((line) => !line.includes('/** ') && /\bJsonValue\b/.test(line));
  return `// Written by \`${command}\`, from what the servers of the app say of themselves: names and descriptions are theirs.
// Not to be changed by hand; the same command writes it anew.
/* eslint-disable */
${isNeeded ? "import type { JsonValue } from 'outwait';" : 'export {};'}

// prettier-ignore
declare module 'outwait' {
  interface ServerTypes {
${body}  }
}
`;
}

function serverMember({ name, offers }: ServerOffers): string {
  if (offers === undefined)
    return `    /** Not asked; nothing but its name is checked. */\n    ${nameText(name)}: {};\n`;
  const { kind, offers: all } = offers;
  const list =
    all === undefined
      ? '      /** The agent does not say which. */\n      skills: { [id: string]: {} };\n'
      : `      ${kind}: {\n${members(all)}${isCut(offers) ? openMember : ''}      };\n`;
  return `    ${nameText(name)}: {\n${list}    };\n`;
}

const openMember = '        /** The server has more of them than are read. */\n        [name: string]: {};\n';

function isCut(offers: Exclude<Offers, { kind: 'unknown' }>): boolean {
  return (offers.kind === 'tools' && offers.isCut) || (offers.offers?.length ?? 0) > offersMax;
}

function members(offers: readonly Offer[]): string {
  const byName = new Map(
    [...offers]
      .reverse()
      .filter(({ name }) => name !== '' && name.length <= nameMaxChars)
      .map((offer) => [offer.name, offer]),
  );
  let text = '';
  for (const [, offer] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, offersMax)) {
    const member = offerMember(offer);
    text += text.length + member.length <= serverMaxChars ? member : uncheckedMember(offer);
  }
  return text;
}

function offerMember({ name, description, inputSchema, outputSchema }: Offer): string {
  const doc = docComment(description);
  const parts = [
    part('arguments', inputSchema === undefined ? undefined : schemaType(inputSchema, { of: 'arguments', indent: 10 })),
    part('output', outputSchema === undefined ? undefined : schemaType(outputSchema, { of: 'output', indent: 10 })),
  ].join('');
  return [
    doc === undefined ? '' : `        ${doc}\n`,
    parts === '' ? `        ${nameText(name)}: {};\n` : `        ${nameText(name)}: {\n${parts}        };\n`,
  ].join('');
}

/** Leaves only the reason of a type that says nothing, so that the call takes what JSON can hold. */
function part(name: 'arguments' | 'output', type: SchemaType | undefined): string {
  if (type === undefined) return '';
  if (!type.isAnything) return `          ${name}: ${type.text};\n`;
  const [, why] = /\/\* (.*) \*\//.exec(type.text) ?? [];
  return why === undefined ? '' : `          // ${name}: not checked, ${why}\n`;
}

function uncheckedMember({ name }: Offer): string {
  return `        /** Not checked: the server has too many of them. */\n        ${nameText(name)}: {};\n`;
}

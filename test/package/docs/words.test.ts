import { expect, it } from 'vitest';
import { pages, prose } from './pages.js';

/** Words that begin a sentence only if its subject is left out or stands elsewhere. */
const unclear = /^(Of|One|Those|Else|Whoever)\b/;

/** Returns the beginnings of headings, paragraphs and list items, without markup. */
function beginningsOf(page: string): readonly string[] {
  return prose(page)
    .split(/\n{2,}|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((block) => block.replace(/^\s*(?:#+ |(?:[-*]|\d+\.) +)?[*_`[]*/, ''))
    .filter((block) => block !== '' && !block.startsWith('|'));
}

it.each(pages)('%s begins no heading, paragraph or list item with a word that refers to nothing', (page) => {
  const beginnings = beginningsOf(page);
  expect(beginnings.length).toBeGreaterThan(1);
  expect(beginnings.filter((beginning) => unclear.test(beginning))).toEqual([]);
});

/** Counts the words of a sentence; a code span or the target of a link counts as one word or none. */
function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
}

it('ARCHITECTURE.md has no sentence of more than 30 words', () => {
  const sentences = prose('ARCHITECTURE.md')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/`[^`]*`/g, 'x')
    .split(/\n{2,}|\n(?=[|#*-])| \| |(?<=[.!?])\s+(?=[A-Z[(x])/)
    .map((sentence) => sentence.trim());
  expect(sentences.length).toBeGreaterThan(500);
  expect(sentences.filter((sentence) => wordsOf(sentence) > 30)).toEqual([]);
});

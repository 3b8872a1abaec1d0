import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../../', import.meta.url);

/** Returns the text of a file of the repository. */
export function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** Returns the paths of files with this ending below a folder of the repository. `''`: directly in the root only. */
export function filesIn(folder: string, ending: string): readonly string[] {
  return readdirSync(new URL(folder === '' ? '.' : `${folder}/`, root), { recursive: folder !== '', encoding: 'utf8' })
    .map((path) => (folder === '' ? path : `${folder}/${path.replaceAll('\\', '/')}`))
    .filter((path) => path.endsWith(ending) && !path.includes('node_modules/'));
}

/** Every page that is written by hand; `etc` holds generated API reports. */
export const pages = ['', 'docs', 'test', 'examples'].flatMap((folder) => filesIn(folder, '.md'));

/** Returns the page without its code blocks. */
export function prose(page: string): string {
  return read(page).replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
}

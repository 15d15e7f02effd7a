import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenDir } from './server';

/** One file of the golden store, as its writer recorded it. */
export interface GoldenFile {
  ns: string;
  snapshot: string;
  file: string;
  'crypt-mode': string;
  'plain-size': number;
  'plain-sha256': string;
}

/** Every file of the golden store. */
export function goldenFiles(): GoldenFile[] {
  const text = readFileSync(join(goldenDir(), 'expected.json'), 'utf8');
  return (JSON.parse(text) as { files: GoldenFile[] }).files;
}

/** One file of it. */
export function goldenFile(snapshot: string, file: string): GoldenFile {
  const found = goldenFiles().find((entry) => entry.snapshot === snapshot && entry.file === file);
  if (!found) throw new Error(`expected.json has no ${snapshot}/${file}`);
  return found;
}

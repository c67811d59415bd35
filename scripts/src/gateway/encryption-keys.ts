import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A fresh value for `CREDENTIAL_KEYS` or `CONTENT_KEYS`. */
export function makeEncryptionKeys(): string {
  return `local:${randomBytes(32).toString('hex')}`;
}

/** The value of such a setting that a file keeps, made the first time. Only its owner may read the file. */
export function readOrMakeEncryptionKeys(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, makeEncryptionKeys(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}

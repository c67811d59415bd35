import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

describe('the check of folders', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'check-folders-'));
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('refuses a folder with more than 15 source files', () => {
    fill('libs/x/src/lookup', 16);
    expect(check()).to.deep.equal({ status: 1, stderr: 'libs/x/src/lookup: 16 source files, 15 at most\n' });
  });

  it('accepts 15 beside folders and texts, and any number of tests', () => {
    fill('libs/x/src/lookup', 15);
    fill('libs/x/src/lookup/deeper', 15);
    fill('libs/x/test', 40);
    writeFileSync(join(folder, 'libs/x/src/lookup/README.md'), 'A text.\n');
    expect(check()).to.deep.equal({ status: 0, stderr: '' });
  });

  function fill(path: string, files: number): void {
    mkdirSync(join(folder, path), { recursive: true });
    for (let file = 0; file < files; file += 1) writeFileSync(join(folder, path, `${file}.ts`), '');
  }

  function check() {
    const args = [join(ROOT, 'scripts/check-folders.mjs')];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return { status, stderr };
  }
});

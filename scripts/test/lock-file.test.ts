import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

interface LockFile {
  packages: Record<string, { optionalDependencies?: Record<string, string> }>;
}

describe('the lock file', () => {
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as LockFile;
  const paths = Object.keys(packages);

  it('names the packages of every platform, or `npm ci` refuses it: `node scripts/complete-lock-file.mjs` adds them', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).to.deep.equal([]);
  });

  it('names no host: every registry serves', () => {
    expect(text).not.to.match(/"resolved": "https?:/);
  });
});

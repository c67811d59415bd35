import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

interface LockFile {
  packages: Record<string, { link?: true; integrity?: string; optionalDependencies?: Record<string, string> }>;
}

describe('the lock file', () => {
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as LockFile;
  const paths = Object.keys(packages);

  it('names the packages of every platform, or `npm ci` refuses it: choose versions that a registry has for all of them', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).to.deep.equal([]);
  });

  it('has the hash of every package, so that no registry can put another in its place', () => {
    const unproven = Object.entries(packages)
      .filter(
        ([path, { link, integrity }]) => path.includes('node_modules/') && !link && !integrity?.startsWith('sha512-'),
      )
      .map(([path]) => path);
    expect(unproven).to.deep.equal([]);
  });

  it('names no host: every registry serves', () => {
    expect(text).not.to.match(/"resolved": "https?:/);
  });
});

describe('an installation', () => {
  it('runs no code of the packages that it installs', () => {
    const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n');
    expect(settings).to.include('ignore-scripts=true');
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findLuaFiles } from '@gateway/scripts/mutation/find-lua-files';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

interface LockFile {
  packages: Record<string, { link?: true; integrity?: string; optionalDependencies?: Record<string, string> }>;
}

interface MutationGroup {
  tests: string[];
  mutations: { file: string; from: string }[];
}

for (const folder of ['', 'scripts/mutation/', 'scripts/kubectl/']) {
  const text = readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as LockFile;
  const paths = Object.keys(packages);

  describe(`the lock file ${folder}package-lock.json`, () => {
    it('names the packages of every platform, or `npm ci` refuses it: choose versions that a registry has for all of them', () => {
      const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
        Object.keys(optionalDependencies),
      );
      expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).to.deep.equal([]);
    });

    it('has the hash of every package, so that no registry can put another in its place', () => {
      const unproven = Object.entries(packages)
        .filter(([path, { link }]) => path.includes('node_modules/') && !link)
        .filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
      expect(unproven.map(([path]) => path)).to.deep.equal([]);
    });

    it('names no host: every registry serves', () => {
      expect(text).not.to.match(/"resolved": "https?:/);
    });

    it('is installed without running any code of the packages', () => {
      const settings = readFileSync(join(ROOT, folder, '.npmrc'), 'utf8').split('\n');
      expect(settings).to.include('ignore-scripts=true');
    });
  });
}

describe('the list of Lua mutations', () => {
  it('fits the Lua files, and names tests that exist', () => {
    const groups = JSON.parse(readFileSync(join(ROOT, 'scripts/mutation/lua.json'), 'utf8')) as MutationGroup[];
    const files = findLuaFiles(ROOT);
    const stale = groups
      .flatMap(({ mutations }) => mutations)
      .filter(({ file, from }) => readFileSync(files.get(file) ?? '', 'utf8').split(from).length !== 2);
    expect(stale).to.deep.equal([]);
    expect(groups.flatMap(({ tests }) => tests).filter((test) => !existsSync(join(ROOT, test)))).to.deep.equal([]);
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

/** `services/api/src/http/app.ts`, and links such as [flow](docs/flow.md). */
const PATHS = /`((?:bench|deploy|docs|k8s|libs|scripts|services)\/[\w./-]*)`|\]\(((?!https?:)[\w./-]+)\)/g;
const COMMANDS =
  /npm (?:run )?(demo|test:long|test|start|cli|simulator|bench|chaos|model|mutate|format|build|lint|unused|release)(?![\w:])/g;

const documents = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** `gates.ts`, or the end of a path. */
const SHORT_NAMES = /`((?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|tsx|lua|mjs))`/g;
const sources = ['bench', 'libs', 'scripts', 'services'].flatMap((folder) => listFiles(folder));

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !['node_modules', 'dist', 'build'].includes(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? listFiles(path) : [path];
    });
}

describe('the documents', () => {
  for (const name of documents) {
    const text = readFileSync(join(ROOT, name), 'utf8');

    it(`of ${name} name only files that exist`, () => {
      const missing = [...text.matchAll(PATHS)]
        .map(([, path, link]) => path ?? join(name, '..', link!))
        .filter((path) => !existsSync(join(ROOT, path)));
      expect(missing).to.deep.equal([]);
    });

    // Those tell of what was, too.
    if (!name.startsWith('docs/adr/'))
      it(`of ${name} call files by names that exist`, () => {
        const missing = [...text.matchAll(SHORT_NAMES)]
          .map(([, end]) => end!)
          .filter((end) => !sources.some((path) => path === end || path.endsWith(`/${end}`)));
        expect(missing).to.deep.equal([]);
      });

    it(`of ${name} name only commands that exist`, () => {
      for (const [, command] of text.matchAll(COMMANDS)) expect(scripts).to.have.property(command!);
    });
  }

  it('name at most five files for each change, by their whole paths', () => {
    const table = readFileSync(join(ROOT, 'docs/contributing.md'), 'utf8').split('| to add | open |')[1]!;
    const rows = table
      .split('\n')
      .slice(2)
      .filter((row) => row.startsWith('|'));
    expect(rows).to.have.length.above(12);
    for (const row of rows) {
      const files = [...row.matchAll(PATHS)].map(([, path]) => path);
      expect(files.length, row).to.be.within(1, 5);
    }
  });
});

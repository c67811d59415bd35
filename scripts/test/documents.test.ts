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

describe('the documents', () => {
  for (const name of documents) {
    const text = readFileSync(join(ROOT, name), 'utf8');

    it(`of ${name} name only files that exist`, () => {
      const missing = [...text.matchAll(PATHS)]
        .map(([, path, link]) => path ?? join(name, '..', link!))
        .filter((path) => !existsSync(join(ROOT, path)));
      expect(missing).to.deep.equal([]);
    });

    it(`of ${name} name only commands that exist`, () => {
      for (const [, command] of text.matchAll(COMMANDS)) expect(scripts).to.have.property(command!);
    });
  }
});

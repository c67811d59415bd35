import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

const BIOME = join(ROOT, 'node_modules/.bin/biome');

/** Files that import what they may not, and what they may. The rules must tell them apart. */
const IMPORTS: [file: string, imported: string, allowed: boolean][] = [
  ['libs/contracts/src/x.ts', '@gateway/runtime/errors', false],
  ['libs/contracts/src/x.ts', 'joi', true],
  ['libs/runtime/src/x.ts', '@gateway/contracts/errors', true],
  ['libs/runtime/src/x.ts', '@gateway/store/store', false],
  ['libs/runtime/src/x.ts', 'ioredis', true],
  ['libs/runtime/src/x.ts', 'bullmq', false],
  ['libs/egress/src/x.ts', '@gateway/runtime/errors', true],
  ['libs/egress/src/x.ts', '@gateway/store/store', false],
  ['libs/egress/src/x.ts', 'undici', true],
  ['libs/queue/src/x.ts', 'bullmq', true],
  ['libs/queue/src/x.ts', '@gateway/store/store', false],
  ['libs/store/src/x.ts', 'ioredis', true],
  ['libs/store/src/x.ts', '@gateway/messenger/trust', false],
  ['libs/store/src/x.ts', 'bullmq', false],
  ['libs/fleet/src/x.ts', '@gateway/store/store', true],
  ['libs/fleet/src/x.ts', '@gateway/messenger/trust', false],
  ['libs/fleet/src/x.ts', 'ioredis', false],
  ['libs/store/src/x.ts', '@gateway/fleet/session-keeper', false],
  ['services/sender/src/x.ts', '@gateway/fleet/session-keeper', true],
  ['services/api/src/x.ts', '@gateway/fleet/session-keeper', false],
  ['libs/messenger/src/x.ts', '@whiskeysockets/baileys', true],
  ['libs/messenger/src/x.ts', '@gateway/store/store', false],
  ['libs/messenger/src/x.ts', 'ioredis', false],
  ['services/gateway/src/x.ts', '@gateway/sender/run-sender', true],
  ['services/gateway/src/x.ts', '@gateway/store/store', false],
  ['services/gateway/src/x.ts', 'ioredis', false],
  ['services/api/src/x.ts', '@gateway/store/store', true],
  ['services/api/src/x.ts', '@gateway/egress/fetch-url', true],
  ['services/api/src/x.ts', 'undici', false],
  ['services/api/src/x.ts', '@gateway/messenger/trust', false],
  ['services/api/src/x.ts', '@gateway/sender/wake-up', false],
  ['services/api/src/x.ts', '@gateway/testkit/eventually', false],
  ['services/api/src/x.ts', 'ioredis', false],
  ['services/api/src/x.ts', '@whiskeysockets/baileys', false],
  ['services/cli/src/x.ts', '@gateway/store/store', true],
  ['services/cli/src/x.ts', '@gateway/api/config', false],
  ['services/cli/src/x.ts', '@gateway/egress/post-webhook', true],
  ['services/dashboard/src/x.ts', '@gateway/store/store', true],
  ['services/dashboard/src/x.ts', '@gateway/egress/fetch-url', true],
  ['services/dashboard/src/x.ts', '@gateway/api/config', false],
  ['services/dashboard/src/x.ts', '@gateway/queue/producer', false],
  ['services/dashboard/src/x.ts', 'ioredis', false],
  ['services/dashboard/web/src/x.tsx', '@gateway/contracts/errors', true],
  ['services/dashboard/web/src/x.tsx', '@gateway/store/store', false],
  ['services/dashboard/web/src/x.tsx', '@gateway/runtime/errors', false],
  ['services/gateway/src/x.ts', '@gateway/dashboard/run-dashboard', true],
  ['services/sender/src/x.ts', '@gateway/messenger/trust', true],
  ['services/sender/src/x.ts', '@gateway/connection/config', false],
  ['services/sender/src/x.ts', '@gateway/testkit/eventually', false],
  ['services/sender/src/x.ts', 'bullmq', false],
  ['services/sender/src/x.ts', '@whiskeysockets/baileys/lib/Utils/crypto.js', false],
  ['services/sender/test/x.ts', '@gateway/testkit/eventually', true],
  ['services/sender/test/x.ts', '@whiskeysockets/baileys', true],
  ['services/connection/src/x.ts', '@gateway/sender/wake-up', false],
  ['services/simulator/src/x.ts', '@whiskeysockets/baileys', true],
  ['services/simulator/src/x.ts', '@gateway/messenger/trust', false],
  // What has no line in biome.json yet may import nothing of ours.
  ['services/brand-new/src/x.ts', '@gateway/store/store', false],
  ['services/brand-new/src/x.ts', 'bullmq', false],
  ['scripts/src/x.ts', '@gateway/sender/wake-up', false],
  ['bench/src/x.ts', 'bullmq', true],
];

const OTHERS = {
  'services/api/src/env.ts': 'export const home = process.env.HOME;\n',
  'services/api/src/config.ts': 'export const home = process.env.HOME;\n',
  'libs/store/src/env.ts': "import { env } from 'node:process';\n\nexport const home = env.HOME;\n",
  'libs/store/src/circle-a.ts': "import { b } from './circle-b.js';\n\nexport const a = () => b();\n",
  'libs/store/src/circle-b.ts': "import { a } from './circle-a.js';\n\nexport const b = () => a();\n",
  'libs/store/src/type-a.ts': "import type { B } from './type-b.js';\n\nexport type A = B | 1;\n",
  'libs/store/src/type-b.ts': "import type { A } from './type-a.js';\n\nexport type B = A[];\n",
  'libs/store/src/line.ts': "import { a } from './circle-a.js';\n\nexport const c = () => a();\n",
};

describe('the lint rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lint-rules-'));
  let complaints: string[];

  before(() => {
    cpSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'));
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    IMPORTS.forEach(([path, imported], index) => {
      write(numbered(path, index), `import { x } from '${imported}';\n\nx();\n`);
    });
    for (const [path, source] of Object.entries(OTHERS)) write(path, source);
    complaints = lint();
  });

  after(() => rmSync(folder, { recursive: true }));

  IMPORTS.forEach(([path, imported, allowed], index) => {
    const from = dirname(path);
    it(allowed ? `let ${from} import ${imported}` : `keep ${from} from importing ${imported}`, () => {
      const complaint = `noRestrictedImports ${numbered(path, index)}`;
      expect(complaints.includes(complaint)).to.equal(!allowed);
    });
  });

  it('let only config files read the environment', () => {
    expect(complaints).to.include('noProcessEnv services/api/src/env.ts');
    expect(complaints).not.to.include('noProcessEnv services/api/src/config.ts');
    expect(complaints).to.include('noRestrictedImports libs/store/src/env.ts');
  });

  it('find imports that go in a circle', () => {
    expect(complaints).to.include('noImportCycles libs/store/src/circle-a.ts');
    expect(complaints).to.include('noImportCycles libs/store/src/type-a.ts');
    expect(complaints).not.to.include('noImportCycles libs/store/src/line.ts');
  });

  function write(path: string, source: string): void {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), source);
  }

  /** Each complaint as `rule file`. */
  function lint(): string[] {
    const args = ['lint', '--reporter=json', '--max-diagnostics=none'];
    const { stdout } = spawnSync(BIOME, args, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: string } }[] };
    return diagnostics.map(({ category, location }) => `${category.split('/').at(-1)} ${location.path}`);
  }
});

function numbered(path: string, index: number): string {
  return path.replace('/x.', `/x${index}.`);
}

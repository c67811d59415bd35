import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const REPOSITORY = new URL('../../../../../', import.meta.url);
const MAIN = fileURLToPath(new URL('./fixtures/read-in-child.js', import.meta.url));
const NAUGHTY = new URL('./fixtures/naughty-previews.js', import.meta.url).href;
/** Root may read everything. */
const USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

describe('the image of the services', () => {
  let folder: string;
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    folder = await mkdtemp(join(tmpdir(), 'node-'));
    await chmod(folder, 0o755);
  });
  after(() => folder && rm(folder, { recursive: true }));

  it('has a node that may be run and not read', async () => {
    expect(await readFile(new URL('deploy/Dockerfile', REPOSITORY), 'utf8')).to.match(
      /^RUN chmod 0711 \/usr\/local\/bin\/node$/m,
    );
  });

  it('keeps by that what its processes were told from processes of the same user', async function () {
    const node = join(folder, 'node');
    await copyFile(process.execPath, node);
    await chmod(node, 0o111);
    // A folder of root alone.
    if (!(await canRead(node))) this.skip();
    const { stdout } = await promisify(execFile)(node, [MAIN, NAUGHTY], { ...USER, cwd: '/', env: { SECRET: 'x' } });
    const { thumbnail } = JSON.parse(JSON.parse(stdout).line) as { thumbnail: string };
    const told = JSON.parse(Buffer.from(thumbnail, 'base64').toString());
    expect(told.parent).to.deep.equal([]);
    expect(Object.keys(told.env)).not.to.include('SECRET');
  });
});

async function canRead(node: string): Promise<boolean> {
  const code = `require('node:fs').accessSync(${JSON.stringify(MAIN)})`;
  return promisify(execFile)(node, ['-e', code], { ...USER, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

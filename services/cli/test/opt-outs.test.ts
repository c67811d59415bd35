import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addOptOuts, countOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

describe('optouts on the command line', () => {
  let space: RedisSpace;
  let folder: string;

  beforeEach(async () => {
    [space, folder] = await Promise.all([openRedisSpace(), mkdtemp(join(tmpdir(), 'opt-outs-'))]);
  });
  afterEach(async () => {
    await space.close();
    await rm(folder, { recursive: true });
  });

  const cli = (args: string[], input = '') => runCli(space, ['optouts', ...args], { input });
  const sourceOf = async (phone: string) => (await findOptOut(space.store, 'main', phone))?.source;

  it('adds people, shows them, and takes them off', async () => {
    expect((await cli(['list'])).stdout).to.include('There are no opt-outs.');
    const added = await cli(['add', '+44 7700 900-001', '447700900002', '447700900002']);
    expect(added.stdout, added.stderr).to.match(/added +2\nunchanged +0\n/);
    expect((await cli(['list'])).stdout).to.match(/447700900001 +cli +20\d\d-/);
    expect((await cli(['show', '447700900001'])).stdout).to.match(/optedOut +true\nsource +cli\n/);
    expect((await cli(['remove', '447700900001', '447700900003'])).stdout).to.match(/removed +1\n/);
    expect(JSON.parse((await cli(['show', '447700900001', '--json'])).stdout)).to.deep.equal({
      phone: '447700900001',
      optedOut: false,
    });
    expect(await countOptOuts(space.store, 'main')).to.equal(1);
  });

  it('shows the first of many, and how many more there are', async () => {
    const numbers = Array.from({ length: 150 }, (_, i) => String(447_700_900_000 + i));
    await addOptOuts(space.store, 'main', { numbers, source: 'reply', atMs: Date.now() });
    const [{ stdout }, all] = await Promise.all([cli(['list']), cli(['list', '--limit', '150', '--json'])]);
    expect(stdout.split('\n').filter((line) => line.includes(' reply '))).to.have.length(100);
    expect(stdout).to.include('... and 50 more: optouts export');
    expect(JSON.parse(all.stdout)).to.have.length(150);
  });

  it('imports the first column of a file, and exports what it can import', async () => {
    const file = join(folder, 'stop.csv');
    await writeFile(file, '\ufeffphone;name\r\n"+44 7700 900001";Ann\r\n# until May\r\n\r\n447700900002;Bob\r\n');
    const imported = await cli(['import', file]);
    expect(imported.stdout, imported.stderr).to.match(/added +2\n/);
    expect(await sourceOf('447700900001')).to.equal('cli');

    const exported = join(folder, 'export.csv');
    expect((await cli(['export', exported])).code).to.equal(0);
    expect((await stat(exported)).mode & 0o777).to.equal(0o600);
    const lines = (await readFile(exported, 'utf8')).trimEnd().split('\n');
    expect(lines[0]).to.equal('phone,source,at');
    expect(lines.slice(1).every((line) => /^44770090000[12],cli,20\d\d-.*Z$/.test(line))).to.equal(true);
    expect((await cli(['export'])).stdout.trimEnd().split('\n')).to.deep.equal(lines);
    const objects = (await cli(['export', '--json'])).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(objects.map(({ phone, source, at }) => [phone, source, at].join())).to.deep.equal(lines.slice(1));
    expect((await cli(['import', exported])).stdout).to.match(/added +0\nunchanged +2\n/);
    expect((await cli(['export', exported])).stderr, 'overwrites nothing').to.include('EEXIST');
  });

  it('shows people without a known number as such, in a file too', async () => {
    const hiddenId = '100000000000001@lid';
    await addOptOuts(space.store, 'main', { numbers: [hiddenId], source: 'reply', atMs: Date.now() });
    expect((await cli(['list'])).stdout).to.match(/no number \(100000000000001@lid\) +reply/);
    const exported = (await cli(['export'])).stdout;
    expect(exported).to.match(/^100000000000001@lid,reply,20/m);
    expect((await cli(['remove', hiddenId])).stdout).to.match(/removed +1\n/);
    expect((await cli(['import', '-'], exported)).stdout).to.match(/added +1\n/);
    expect(await sourceOf(hiddenId)).to.equal('cli');
  });

  it('imports from the standard input, 20,000 numbers at once', async () => {
    const numbers = Array.from({ length: 20_000 }, (_, i) => String(447_700_000_000 + i));
    expect((await cli(['import', '-'], numbers.join('\n'))).stdout).to.match(/added +20000\n/);
    expect((await cli(['export'])).stdout.split('\n')).to.have.length(20_002);
  });

  it('imports all of a file or nothing, unless it may pass over lines', async () => {
    const content = '447700900001\nAnn\n447700900002,Bob\n12\n';
    const refused = await cli(['import', '-'], content);
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('nothing was imported: no phone number in line 2, 4').and.not.include('Ann');
    expect(await countOptOuts(space.store, 'main')).to.equal(0);
    expect((await cli(['import', '-', '--skip-invalid'], content)).stdout).to.match(/skipped: 2\nadded +2\n/);
  });

  it('says in a sentence what is wrong, and fails', async () => {
    const cases: [string[], string][] = [
      [['add'], "missing required argument 'phone'"],
      [['add', 'Ann'], 'Expected 7 to 15 digits, country code first.'],
      [['show', '0044'], 'Expected 7 to 15 digits, country code first.'],
      [['list', '--limit', '0'], 'Expected a whole number of at least 1.'],
      [['import', join(folder, 'nowhere')], 'ENOENT'],
    ];
    const runs = await Promise.all(cases.map(([args]) => cli(args)));
    for (const [i, [args, message]] of cases.entries()) {
      const { code, stderr } = runs[i]!;
      expect(code, args.join(' ')).to.equal(1);
      expect(stderr, args.join(' ')).to.include(message);
      expect(stderr, args.join(' ')).not.to.include('    at ');
    }
  });
});

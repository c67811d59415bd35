import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../api/test/support/device-owner.js';
import { SentFiles } from '../../api/test/support/sent-files.js';
import { runCli } from './support/run-cli.js';

const FILE = randomBytes(300_000);

describe('a file that a person sent, on the command line', () => {
  const files = new SentFiles();
  let space: RedisSpace;
  let owner: DeviceOwner;
  let folder: string;
  let id: string;

  before(async () => {
    space = await openRedisSpace();
    owner = await linkDevice(space.store);
    await files.start();
  });
  after(async () => {
    files.close();
    await space.close();
  });
  beforeEach(async () => {
    files.answer = undefined;
    folder = await mkdtemp(join(tmpdir(), 'media-'));
    id = await files.receive(space.store, owner.ownership, FILE);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const get = (file: string, { of = id, workspace = 'main' } = {}) =>
    runCli(space, ['--json', 'media', 'get', of, file], {
      workspace,
      env: { MESSENGER_URL: 'ws://127.0.0.1:1/ws/chat' },
    });
  const target = () => join(folder, 'bill.pdf');

  it('is written whole to a new file that nobody else of the machine can read', async () => {
    const { code, stdout, stderr } = await get(target());
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.equal({
      ...{ file: target(), type: 'document', mimeType: 'application/pdf', filename: "Ann's bill.pdf", bytes: 300_000 },
    });
    expect(FILE.equals(await readFile(target()))).to.equal(true);
    expect((await stat(target())).mode & 0o777).to.equal(0o600);
    expect(await readdir(folder)).to.deep.equal(['bill.pdf']);
  });

  it('leaves a file alone that is there, and nothing beside it', async () => {
    await writeFile(target(), 'of before');
    const { code, stderr } = await get(target());
    expect(code).to.equal(1);
    expect(stderr).to.contain('EEXIST');
    expect(await readFile(target(), 'utf8')).to.equal('of before');
    expect(await readdir(folder)).to.deep.equal(['bill.pdf']);
  });

  it('goes to the standard output as it is', async () => {
    const text = 'Dear Ann,\n\u001b[2J';
    const { code, stdout } = await get('-', {
      of: await files.receive(space.store, owner.ownership, Buffer.from(text)),
    });
    expect([code, stdout]).to.deep.equal([0, text]);
  });

  it('is no file when it is not the one that its message speaks of', async () => {
    files.answer = { bytes: randomBytes(300_000) };
    const { code, stderr } = await get(target());
    expect([code, stderr]).to.deep.equal([1, 'error: it has another hash\n']);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('says why there is none: no such id, that of another workspace, the network, the phone', async () => {
    for (const of of ['x', 'med_00000000_M0E'])
      expect((await get(target(), { of })).stderr).to.contain(`no file ${of}`);
    await createWorkspace(space.store, 'other');
    expect((await get(target(), { workspace: 'other' })).stderr).to.contain('no file');
    files.answer = { status: 500 };
    const { stderr } = await get(target());
    expect(stderr).to.equal('error: Service unavailable: the network did not hand out a file: 500\n');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('is asked of the phone through the owner of the device, and gone when that does not have it', async () => {
    files.answer = { status: 410 };
    const running = get(target());
    const [taken] = await eventually(async () => {
      const found = await takeQuestions(space.store, owner.ownership);
      return found.length > 0 && found;
    });
    const value = JSON.stringify({ directPath: null });
    await writeOwnerAnswer(space.store, owner.ownership, { id: taken!.id, part: '0', value });
    expect((await running).stderr).to.equal('error: File is gone\n');
  });
});

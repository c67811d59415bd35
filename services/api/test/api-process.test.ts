import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { parseMessageId } from '@gateway/contracts/ids';
import { readContent } from '@gateway/store/sends/read-send';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { makePng } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { whenClosed } from './support/raw-request.js';
import { BASE } from './support/test-api.js';

/** Addresses of no one: nothing answers there, should one of them be asked. */
const SETTINGS = {
  ATTACHMENT_NETWORKS: '127.0.0.0/8',
  ATTACHMENT_DENIED_NETWORKS: '127.0.0.1/32, 93.184.216.0/24',
  NAT64_PREFIXES: '2a00:64::/96',
};

describe('the process of the API', () => {
  let space: RedisSpace;
  let api: ServiceProcess;
  let token: string;

  before(async () => {
    space = await openRedisSpace();
    await linkDevice(space.store);
    ({ value: token } = await createApiToken(space.store, 'main', { name: 'test' }));
    const { CONTENT_KEYS } = space.keySettings;
    const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, CONTENT_KEYS, API_PORT: '0', OPS_PORT: '0' };
    api = await ServiceProcess.start('api', { ...env, ...SETTINGS, LOG_LEVEL: 'debug' });
  });
  after(async () => {
    await api.kill();
    await space.close();
  });

  async function send(attachment: object): Promise<{ status: number; body: { messageId?: string } }> {
    const { port } = await api.waitForLog((line) => line.message === 'api listens');
    const response = await fetch(`http://127.0.0.1:${port}${BASE}/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '447700900001', attachment }),
    });
    return { status: response.status, body: (await response.json()) as { messageId?: string } };
  }

  it('refuses URLs by the networks of its settings', async () => {
    const reasons = {
      '127.0.0.1': 'denied_network',
      '93.184.216.34': 'denied_network',
      '[2a00:64::a9fe:a9fe]': 'address',
    };
    for (const [host, reason] of Object.entries(reasons)) {
      expect((await send({ type: 'document', url: `http://${host}/` })).status).to.equal(400);
      await api.waitForLog((line) => line.reason === reason && new URL(`http://${host}`).hostname === line.host);
    }
    expect((await send({ type: 'document', url: 'http://127.0.0.2/' })).status).to.equal(400);
    await api.waitForLog((line) => line.host === '127.0.0.2' && line.reason === 'connection');
  });

  it('loads no decoder: another process is asked, which ends with it', async () => {
    const sendImage = async () => {
      const { status, body } = await send({ type: 'image', base64: makePng(20, 10).toString('base64') });
      expect(status).to.equal(202);
      const { tag } = parseMessageId(body.messageId!)!;
      return (await readContent(space.store, { workspace: 'main', device: 'default' }, tag))!.content;
    };
    // Where its preview is not there in time it goes without: on a machine with other work that is no defect.
    const isShown = (content: object) => 'thumbnail' in content && content;
    const content = await eventually(async () => isShown(await sendImage()), { what: 'a preview in time' });
    expect(content).to.include({ width: 20, height: 10 });
    const [pid, ...more] = readFileSync(`/proc/${api.pid}/task/${api.pid}/children`, 'utf8').trim().split(' ');
    expect(more).to.deep.equal([]);
    expect(librariesOf(pid!)).to.match(/libvips/);
    expect(librariesOf(api.pid)).not.to.match(/libvips/);
    expect(await api.metrics()).to.match(/gateway_previews_total\{[^}]*outcome="made"[^}]*\} 1/);
    await api.kill();
    await eventually(() => !isAlive(pid!));
  });
});

describe('the process of the API, with few places', () => {
  const BACKLOG = 7;
  const PLACES = 4;
  let space: RedisSpace;
  let api: ServiceProcess;
  let port: number;
  let sockets: Socket[];

  beforeEach(async () => {
    sockets = [];
    space = await openRedisSpace();
    const { CONTENT_KEYS } = space.keySettings;
    const env = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, CONTENT_KEYS, API_PORT: '0', OPS_PORT: '0' };
    api = await ServiceProcess.start('api', {
      ...env,
      LISTEN_BACKLOG: String(BACKLOG),
      MAX_CONNECTIONS: String(PLACES),
      MAX_CONNECTIONS_PER_ADDRESS: String(PLACES - 1),
    });
    port = Number((await api.waitForLog(({ message }) => message === 'api listens')).port);
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await api.kill();
    await space.close();
  });

  function open(localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket);
    return socket;
  }

  it('lets as many connections wait as its setting says', async function () {
    if (process.platform !== 'linux') this.skip();
    api.signal('SIGSTOP');
    let connected = 0;
    for (let i = 0; i < 30; i++) open().on('connect', () => connected++);
    // Linux lets one more wait. The others are not refused, but get no answer.
    await eventually(() => connected > BACKLOG);
    await new Promise((resolve) => setImmediate(resolve));
    expect(connected).to.equal(BACKLOG + 1);
  });

  it('has as many at a time as its settings say, of one address and of all', async () => {
    const { value } = await createApiToken(space.store, 'main', { name: 'test' });
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${value}\r\nContent-Type: application/json\r\n`;
    const ask = async (localAddress?: string) => {
      const socket = open(localAddress);
      socket.write(`${head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
      await once(socket, 'data');
    };
    for (let i = 0; i < PLACES - 1; i++) await ask('127.0.0.2');
    await whenClosed(open('127.0.0.2').resume());
    await ask();
    await whenClosed(open().resume());
    expect(await api.metrics()).to.match(/gateway_dropped_connections_total 2\n/);
  });
});

function librariesOf(pid: number | string): string {
  return readFileSync(`/proc/${pid}/maps`, 'utf8');
}

/** A process that ended may still be listed, for the one that waits for it. */
function isAlive(pid: string): boolean {
  return existsSync(`/proc/${pid}`) && !/State:\s+Z/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

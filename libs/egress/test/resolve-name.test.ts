import { pbkdf2 } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseNetworks } from '@gateway/egress/address-rules';
import { EgressError } from '@gateway/egress/egress-error';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { type FetchLimits, fetchUrl } from '@gateway/egress/fetch-url';
import { resolveName } from '@gateway/egress/resolve-name';
import { expect } from 'chai';
import { type NameServer, startNameServer, type Zone } from './support/name-server.js';

const local = (count: number) => Array.from({ length: count }, (_, i) => `127.0.0.${i + 2}`);
const ZONE: Zone = {
  'public.test': { a: ['93.184.216.34'], aaaa: ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'] },
  'v4.test': { a: ['93.184.216.34', '1.1.1.1'] },
  'v6.test': { aaaa: ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'] },
  'alias.test': { cname: 'v4.test' },
  'empty.test': {},
  'files.corp.test': { a: ['10.1.2.3'] },
  'a.b': { a: ['1.0.0.1'] },
  'a.b.corp.test': { a: ['1.1.1.1'] },
  'mixed.test': { a: ['93.184.216.34', '10.0.0.1'] },
  'mixed-families.test': { a: ['93.184.216.34'], aaaa: ['0:0:0:0:0:0:0:1'] },
  'alias-inwards.test': { cname: 'files.corp.test' },
  'metadata.test': { a: ['169.254.169.254'] },
  'here.test': { a: ['127.0.0.3', '127.0.0.1'] },
  'fourth.test': { a: [...local(3), '127.0.0.1', ...local(28)] },
  'fifth.test': { a: [...local(4), '127.0.0.1'] },
  'too-many.test': { a: ['127.0.0.1', ...local(32)] },
  'mapped.test': { aaaa: ['0:0:0:0:0:ffff:a9fe:a9fe'] },
};
const LIMITS: FetchLimits = { maxBytes: 1_000, maxRedirects: 5, timeoutMs: 5_000 };

describe('names in URLs of strangers', () => {
  let server: NameServer;
  let silent: NameServer;
  let folder: string;
  const signal = new AbortController().signal;

  before(async () => {
    [server, silent] = await Promise.all([startNameServer(ZONE), startNameServer()]);
    folder = await mkdtemp(join(tmpdir(), 'names-'));
  });
  after(async () => {
    await Promise.all([server.close(), silent.close(), rm(folder, { recursive: true })]);
  });
  beforeEach(() => {
    server.asked.length = 0;
  });

  async function files(hosts: string, resolver: string) {
    await Promise.all([writeFile(join(folder, 'hosts'), hosts), writeFile(join(folder, 'resolver'), resolver)]);
    return { hosts: join(folder, 'hosts'), resolver: join(folder, 'resolver') };
  }
  const resolve = async (name: string, { hosts = '', resolver = '' } = {}) => {
    const options = { files: await files(hosts, resolver), servers: [server.server] };
    return (await resolveName(name, signal, options)).map(({ address }) => address);
  };
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'resolved',
      (error: NodeJS.ErrnoException) => error.code,
    );

  it('have all their addresses, of both families, also behind another name', async () => {
    expect(await resolve('public.test')).to.deep.equal(['93.184.216.34', '2606:2800:21f:cb07:6820:80da:af6b:8b2c']);
    expect(await resolve('V4.Test.')).to.deep.equal(['93.184.216.34', '1.1.1.1']);
    expect(await resolve('v6.test')).to.have.length(1);
    expect(await resolve('alias.test')).to.deep.equal(['93.184.216.34', '1.1.1.1']);
    expect(await codeOf(resolve('empty.test'))).to.equal('ENOTFOUND');
    expect(await codeOf(resolve('none.test'))).to.equal('ENOTFOUND');
  });

  it('are looked up in the hosts file first, in upper or lower case', async () => {
    const hosts = '# comment\n10.9.8.7\tfiles  Files.Internal # more\n::5 files\nnonsense files\n1.2.3.4 v4.test\n';
    expect(await resolve('files', { hosts })).to.deep.equal(['10.9.8.7', '::5']);
    expect(await resolve('FILES.internal.', { hosts })).to.deep.equal(['10.9.8.7']);
    expect(await resolve('v4.test', { hosts })).to.deep.equal(['1.2.3.4']);
    expect(await resolve('localhost')).to.deep.equal(['127.0.0.1', '::1']);
    expect(await resolve('x.localhost')).to.deep.equal(['127.0.0.1', '::1']);
    expect(server.asked, 'no one was asked').to.deep.equal([]);
  });

  it('are looked for in the search domains as the system does', async () => {
    const resolver = 'nameserver 127.0.0.1\nsearch other.test corp.test.\noptions timeout:1 ndots:2 rotate\n';
    expect(await resolve('files', { resolver })).to.deep.equal(['10.1.2.3']);
    expect(await resolve('a.b', { resolver }), 'too few dots').to.deep.equal(['1.1.1.1']);
    expect(await resolve('a.b', { resolver: 'search corp.test' })).to.deep.equal(['1.0.0.1']);
    expect(await codeOf(resolve('files.', { resolver }))).to.equal('ENOTFOUND');
    expect(await resolve('files', { resolver: 'domain corp.test' })).to.deep.equal(['10.1.2.3']);
  });

  it('are refused when one of their addresses may not be reached', async () => {
    const names = { files: await files('10.0.0.9 known.test\n', 'search corp.test'), servers: [server.server] };
    const policy = { ports: [80], addresses: { allowed: [] }, names };
    const traps = ['mixed.test', 'mixed-families.test', 'alias-inwards.test', 'metadata.test', 'mapped.test'];
    for (const name of [...traps, 'known.test', 'files', 'localhost']) {
      const failure = await fetchUrl(`http://${name}/`, policy, { ...LIMITS, signal }).catch((error: Error) => error);
      expect(failure, name).to.be.instanceOf(EgressError);
      expect((failure as EgressError).reason, name).to.equal('address');
    }
    for (const name of ['none.test', 'empty.test']) {
      const failure = await fetchUrl(`http://${name}/`, policy, { ...LIMITS, signal }).catch((error: Error) => error);
      expect((failure as EgressError).reason, name).to.equal('name');
    }
  });

  it('are refused when one of their addresses is denied, or needs TLS, whatever the others are', async () => {
    const names = { files: await files('', ''), servers: [server.server] };
    const inside = parseNetworks('10.0.0.0/8');
    const reasonOf = (rules: Pick<FetchPolicy, 'addresses' | 'isSecure'>) =>
      fetchUrl('http://mixed.test/', { ports: [80], names, ...rules }, { ...LIMITS, signal }).then(
        () => undefined,
        (failure: EgressError) => failure.reason,
      );
    for (const denied of [inside, parseNetworks('93.184.216.0/24')]) {
      expect(await reasonOf({ addresses: { allowed: inside, denied } })).to.equal('denied_network');
    }
    // Without TLS only what is allowed may be asked, and one of the two is just public.
    expect(await reasonOf({ addresses: { allowed: inside }, isSecure: true })).to.equal('scheme');
  });

  it('are asked for once, and only the addresses that were looked at are connected to', async () => {
    const http = createServer((req, res) => {
      if (req.url === '/away') res.writeHead(302, { location: 'http://mixed.test/' }).end();
      else res.end(req.headers.host);
    });
    await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
    const { port } = http.address() as AddressInfo;
    const names = { files: await files('', ''), servers: [server.server] };
    const policy = { ports: [port, 80], addresses: { allowed: parseNetworks('127.0.0.0/8') }, names };
    const get = (path: string) => fetchUrl(`http://here.test:${port}${path}`, policy, { ...LIMITS, signal });
    expect((await get('/')).toString(), 'nothing listens at the first address').to.equal(`here.test:${port}`);
    expect(server.asked.sort()).to.deep.equal(['here.test a', 'here.test aaaa']);
    const failure = (await get('/away').catch((error: Error) => error)) as EgressError;
    expect([failure.reason, failure.host]).to.deep.equal(['address', 'mixed.test']);
    http.close();
  });

  it('lead to four addresses of a family at most, and nowhere if they have more than any real name', async () => {
    const http = createServer((_req, res) => res.end('file'));
    await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
    const { port } = http.address() as AddressInfo;
    const names = { files: await files('', ''), servers: [server.server] };
    const policy = { ports: [port], addresses: { allowed: parseNetworks('127.0.0.0/8') }, names };
    const get = (name: string) =>
      fetchUrl(`http://${name}:${port}/`, policy, { ...LIMITS, signal }).catch(({ reason }: EgressError) => reason);
    expect(String(await get('fourth.test'))).to.equal('file');
    expect(await get('fifth.test')).to.equal('connection');
    expect(await get('too-many.test')).to.equal('name');
    http.close();
  });

  it('are asked for no longer than someone wants to know', async () => {
    const gone = new AbortController();
    const asking = codeOf(
      resolveName('host.test', gone.signal, { files: await files('', ''), servers: [silent.server] }),
    );
    while (silent.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const startedAt = performance.now();
    gone.abort();
    expect(await asking).to.equal('ECANCELLED');
    expect(performance.now() - startedAt).to.be.below(1_000);
    silent.asked.length = 0;
  });

  it('whose servers are silent hold up neither files, nor ciphers, nor other names, and end in time', async () => {
    const names = { files: await files('', ''), servers: [silent.server] };
    const policy = { ports: [80], addresses: { allowed: [] }, names };
    const startedAt = performance.now();
    const fetches = Array.from({ length: 100 }, (_, i) =>
      fetchUrl(`http://host-${i}.test/`, policy, {
        ...LIMITS,
        timeoutMs: 800,
        signal: new AbortController().signal,
      }).catch((error) => error),
    );
    while (silent.asked.length < 200) await new Promise((resolve) => setImmediate(resolve));
    const askedAfterMs = performance.now() - startedAt;
    await Promise.all([readFile('/etc/hosts'), lookup('localhost'), promisify(pbkdf2)('a', 'b', 1_000, 32, 'sha256')]);
    expect(performance.now() - startedAt - askedAfterMs, 'of others').to.be.below(1_000);
    for (const failure of await Promise.all(fetches)) expect(failure.reason).to.equal('too_slow');
    expect(performance.now() - startedAt).to.be.below(4_000);
  });
});

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A process of its own: what these servers take of memory and time is not what is measured. */
const BOMB = gzipSync(Buffer.alloc(16 * 1024 * 1024));
const PIECE = Buffer.alloc(64 * 1024);
const GB = 1024 ** 3;

const asked: Record<string, number> = {};
/** Until `release`, or until the other side has had enough. */
const hanging = new Set<ServerResponse>();
/** An address that no policy of the test allows: what comes here was led here. */
const hidden = createTcpServer((socket) => {
  asked.hidden = (asked.hidden ?? 0) + 1;
  socket.destroy();
});
await once(hidden.listen(0, '127.0.0.2'), 'listening');
const hiddenUrl = `http://127.0.0.2:${(hidden.address() as AddressInfo).port}/`;

const KINDS: Record<string, (res: ServerResponse) => void> = {
  '/204': (res) => res.writeHead(204).end(),
  '/500': (res) => res.writeHead(500).end(),
  '/hang': (res) => {
    hanging.add(res);
    res.once('close', () => hanging.delete(res));
  },
  '/drip': (res) => {
    res.writeHead(200).write('x');
    const timer = setInterval(() => res.write('x'), 100);
    res.once('close', () => clearInterval(timer));
  },
  '/flood': (res) => {
    res.writeHead(200, { 'content-length': GB });
    const more = () => {
      while (!res.destroyed && res.write(PIECE));
    };
    res.on('drain', more);
    more();
  },
  '/bomb': (res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
  '/redirect': (res) => res.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  '/redirect-inside': (res) => res.writeHead(307, { location: hiddenUrl }).end(),
};

const server = createServer((req, res) => {
  res.on('error', () => {});
  const kind = req.url!;
  asked[kind] = (asked[kind] ?? 0) + 1;
  req.resume().once('end', () => KINDS[kind]!(res));
});
server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
  // Not HTTP: who asks for TLS gets none.
  if (code?.startsWith('HPE_')) asked.tls = (asked.tls ?? 0) + 1;
  socket.destroy();
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const { port } = server.address() as AddressInfo;
process.on('message', (what) => {
  if (what === 'release') for (const res of hanging) res.writeHead(204).end();
  process.send!({ ...asked, hanging: hanging.size });
});
process.once('disconnect', () => process.exit());
process.send!({ origin: `http://127.0.0.1:${port}`, hiddenPort: (hidden.address() as AddressInfo).port });

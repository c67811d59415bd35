import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
/** Written repeatedly as long as the reader accepts it. */
const PIECE_BYTES = 64 * 1024;

/** Before what is repeated without end, and that. */
const ENDLESS = {
  'early hints': ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  'early hints with a link': ['', `HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(200)}>\r\n\r\n`],
  'informational answers of all kinds': [
    '',
    'HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 199 y\r\n\r\n',
  ],
  'header lines': [OK, 'a:\r\n'],
  'header lines of one name': [OK, 'a: b\r\n'],
  'a folded header line': [`${OK}a: b\r\n`, ' c\r\n'],
  'lines without a carriage return': ['HTTP/1.1 200 OK\n', 'a:\n'],
  'a header value': [`${OK}a: `, 'x'],
  'a reason phrase': ['HTTP/1.1 200 ', 'O'],
  'empty lines before the answer': ['', '\r\n'],
  'an answer of 1991': ['', '<html>\n'],
  'chunk extensions': [CHUNKED, `1;${'e'.repeat(2_000)}\r\nz\r\n`],
  'one chunk extension': [`${CHUNKED}1;`, 'e'],
  'zeros before the length of a chunk': [CHUNKED, '0'],
  'chunks of a byte': [CHUNKED, '1\r\nz\r\n'],
  trailers: [`${CHUNKED}1\r\nz\r\n0\r\n`, 'a:\r\n'],
  'answers that were not asked for': [`${OK}Content-Length: 1\r\n\r\nz`, `${OK}Content-Length: 1\r\n\r\nz`],
} as const;

export const ENDLESS_ANSWERS = Object.keys(ENDLESS) as EndlessAnswer[];
export type EndlessAnswer = keyof typeof ENDLESS;

export interface HostileFiles {
  port: number;
  urlOf(answer: EndlessAnswer): string;
  close(): void;
}

/** A file server on this host that answers whatever a parser may take long for, and goes on until its reader has gone. */
export async function startHostileFiles(): Promise<HostileFiles> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true).on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', (head) => {
      const [, index] = /^GET \/(\d+)/.exec(head.toString()) ?? [];
      const [before, again] = ENDLESS[ENDLESS_ANSWERS[Number(index)]!];
      socket.resume().write(before);
      pour(socket, Buffer.from(again.repeat(Math.ceil(PIECE_BYTES / again.length))));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    urlOf: (answer) => `http://127.0.0.1:${port}/${ENDLESS_ANSWERS.indexOf(answer)}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function pour(socket: Socket, piece: Buffer): void {
  const more = () => {
    while (socket.writable && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

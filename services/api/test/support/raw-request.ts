import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '@gateway/testkit/eventually';

export interface RawAnswer {
  status: number;
  headers: Headers;
  /** As it came; empty for HEAD. */
  body: string;
}

/** Resolves when it is closed, also by a reset: a server that refuses what still comes may end it either way. */
export const whenClosed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => {}).once('close', () => resolve());
  });

/** Writes bytes that no client library would write, and reads as many answers as are asked for. */
export async function exchange(
  port: number,
  request: (string | Buffer)[],
  { answers = 1 }: { answers?: number } = {},
): Promise<RawAnswer[]> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8');
  socket.on('data', (data) => {
    received += data;
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  for (const bytes of request) socket.write(bytes);
  try {
    return await eventually(() => {
      const found = readAnswers(received).filter(({ status }) => status !== 100);
      return found.length >= answers && found;
    });
  } catch {
    throw new Error(`${answers} answers expected, but this came: ${received}`);
  } finally {
    socket.destroy();
  }
}

function readAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]));
    const bytes = Buffer.from(rest.slice(end + 4));
    const length = Number(headers.get('content-length') ?? 0);
    if (bytes.length < length) return answers;
    answers.push({ status: Number(first.split(' ')[1]), headers, body: bytes.toString('utf8', 0, length) });
    rest = bytes.toString('utf8', length);
  }
}

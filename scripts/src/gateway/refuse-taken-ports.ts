import { once } from 'node:events';
import { createServer } from 'node:net';
import { GatewayError } from '@gateway/runtime/errors';

export interface WantedPort {
  /** What is to listen there, for people. */
  what: string;
  host: string;
  port: number;
  /** The variable that chooses another. */
  setting: string;
}

/** Throws with one line for each port that another process listens on: better than a start that fails half-way. */
export async function refuseTakenPorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems = (await Promise.all(wanted.map(problemOf))).filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new GatewayError({ code: 'port_taken', message: problems.join('\n') });
}

async function problemOf({ what, host, port, setting }: WantedPort): Promise<string | undefined> {
  const server = createServer();
  try {
    await once(server.listen(port, host), 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'is taken' : `cannot be had (${code})`;
    return `Port ${port} of ${host}, for ${what}, ${reason}: end what listens there, or choose another with ${setting}.`;
  }
}

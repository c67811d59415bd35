/**
 * Loaded into a service before its own code (`node --import`): a library with a defect. To encrypt for one of the `users`
 * of its URL ends the process at once, or with `how=throw` throws where nobody can catch it.
 */
import { createRequire } from 'node:module';

interface SessionCipher {
  addr: { id: string };
  encrypt(data: Uint8Array): Promise<unknown>;
}

const { searchParams } = new URL(import.meta.url);
const users = new Set(searchParams.get('users')?.split(','));
const { SessionCipher } = createRequire(import.meta.url)('libsignal') as {
  SessionCipher: { prototype: SessionCipher };
};
const { encrypt } = SessionCipher.prototype;

SessionCipher.prototype.encrypt = function (this: SessionCipher, data: Uint8Array): Promise<unknown> {
  const [user = ''] = this.addr.id.split(/[_:@]/);
  if (!users.has(user)) return encrypt.call(this, data);
  if (searchParams.get('how') !== 'throw') process.kill(process.pid, 'SIGKILL');
  setImmediate(() => {
    throw new Error('a defect of the library');
  });
  return new Promise(() => {});
};

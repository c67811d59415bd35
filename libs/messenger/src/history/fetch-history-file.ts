import { createDecipheriv, createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Agent, get } from 'node:https';
import { DEFAULT_ORIGIN, getMediaKeys } from '../socket/baileys.js';
import type { WaitingHistory } from './own-creds.js';

export interface FetchDeps {
  /** A history by default; or what the devices of an account share as settings. */
  kind?: 'md-msg-hist' | 'md-app-state';
  /** Names of the file servers, from the network. */
  hosts: readonly string[];
  /** For a simulator with its own certificates. */
  agent?: Agent | undefined;
  signal: AbortSignal;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MAC_BYTES = 10;

/** Location and encryption keys of a file. */
type SealedFile = Pick<WaitingHistory, 'directPath' | 'mediaKey' | 'fileEncSha256'>;

/**
 * Downloads a history, or settings, from the first host that has it, checks and decrypts it; a history is still deflated.
 * Bounded by `signal`.
 */
export async function fetchHistoryFile(file: SealedFile, deps: FetchDeps): Promise<Buffer> {
  let failure: unknown = new Error('the network named no file server');
  for (const host of deps.hosts) {
    try {
      return await openFile(file, await download(urlOf(host, file.directPath), deps), deps.kind);
    } catch (thrown) {
      failure = thrown;
      if (deps.signal.aborted) break;
    }
  }
  throw failure;
}

function urlOf(host: string, directPath: string): URL {
  const url = new URL(`https://${host}${directPath}`);
  if (!directPath.startsWith('/') || url.username || url.password) throw new Error('the path of a history is not one');
  return url;
}

function download(url: URL, { agent, signal }: FetchDeps): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, signal, headers: { Origin: DEFAULT_ORIGIN } }, (response) => {
      const { statusCode = 0 } = response;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (statusCode !== 200 || bytes > MAX_BYTES) request.destroy(new Error('a history was not handed out'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () =>
        statusCode === 200 ? resolve(Buffer.concat(chunks)) : reject(new Error('no such file')),
      );
    });
    request.on('error', reject);
  });
}

/** The library's own download looks at neither hash nor signature. */
async function openFile(
  { mediaKey, fileEncSha256 }: SealedFile,
  sealed: Buffer,
  kind: FetchDeps['kind'] = 'md-msg-hist',
): Promise<Buffer> {
  const { iv, cipherKey, macKey } = await getMediaKeys(Buffer.from(mediaKey, 'base64'), kind);
  const [body, mac] = [sealed.subarray(0, -MAC_BYTES), sealed.subarray(-MAC_BYTES)];
  const expected = createHmac('sha256', macKey!).update(iv).update(body).digest().subarray(0, MAC_BYTES);
  const isIntact = mac.length === MAC_BYTES && timingSafeEqual(mac, expected);
  const hash = createHash('sha256').update(sealed).digest('base64');
  if (!isIntact || hash !== fileEncSha256) throw new Error('a history was changed on its way');
  const cipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
  return Buffer.concat([cipher.update(body), cipher.final()]);
}

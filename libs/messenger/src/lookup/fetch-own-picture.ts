import type { OptionalQueries } from '../session/optional-queries.js';
import { networkCodeOf } from '../session/session-errors.js';
import { within } from '../session/within.js';
import { type BaileysSocket, jidNormalizedUser } from '../socket/baileys.js';

export interface PictureDeps {
  sock: BaileysSocket;
  optional: OptionalQueries;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

const PICTURE_TIMEOUT_MS = 8_000;

/** URL of the account's picture; `undefined` when it is hidden, or when asking has ended connections. Bounded in time. */
export async function fetchOwnPicture({ sock, optional, signal }: PictureDeps): Promise<string | undefined> {
  const limit = { timeoutMs: PICTURE_TIMEOUT_MS, what: 'profile picture', signal };
  if (!optional.mayAsk('ownPicture')) return undefined;
  try {
    const jid = jidNormalizedUser(sock.user?.id);
    const picture = () => within(limit, sock.profilePictureUrl(jid, 'image', PICTURE_TIMEOUT_MS));
    return await optional.ask('ownPicture', picture);
  } catch (error) {
    const code = networkCodeOf(error);
    if (code === 401 || code === 403 || code === 404) return undefined;
    throw error;
  }
}

import { sessionKey, sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { word } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Session } from '../ownership.js';

const takeStep = defineScript({
  name: 'take-role',
  whenFull: 'runs',
  keys: ['steward', 'session'],
  args: { sessionPrefix: text, sessionId: text },
  reply: word,
});

/**
 * Makes a session the steward of its shard, for as long as it lives, unless another one is. Answers the session that is, which may
 * be this one; '' when this one has ended.
 */
export async function takeRole(store: Store, session: Session): Promise<string> {
  const { steward } = shardKeys(store.space, session.shard);
  const sessionPrefix = sessionKeyPrefix(store.space, session.shard);
  return takeStep(store, { steward, session: sessionKey(store.space, session), sessionPrefix, sessionId: session.id });
}

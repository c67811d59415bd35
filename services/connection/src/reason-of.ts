import type { Reason } from '@gateway/contracts/device-state';
import type { DisconnectOutcome } from '@gateway/messenger/disconnect-outcomes';

/** How a session's end is told to people. */
export function reasonOf({ kind }: DisconnectOutcome): Reason {
  switch (kind) {
    case 'linkExpired':
      return 'link_expired';
    case 'linkRefused':
      return 'link_refused';
    case 'loggedOut':
      return 'logged_out';
    case 'banned':
      return 'banned';
    case 'temporarilyBanned':
      return 'temporarily_banned';
    case 'clientOutdated':
      return 'client_outdated';
    case 'notMultiDevice':
      return 'not_multi_device';
    case 'rateLimited':
      return 'rate_limited';
    case 'untrusted':
      return 'untrusted';
    case 'replaced':
      return 'replaced';
    case 'keysUnreadable':
      return 'keys_unreadable';
    case 'restart':
    case 'reconnect':
    case 'unknown':
    case 'closedByUs':
    case 'fenced':
      return 'network';
  }
}

import type { Reason } from '@gateway/contracts/devices/device-state';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';

/** How a session's end is told to people. */
export function reasonOf(outcome: DisconnectOutcome): Reason {
  switch (outcome.kind) {
    case 'linkExpired':
      return 'link_expired';
    case 'linkRefused':
      return 'link_refused';
    case 'codeRefused':
      return CODE_REASONS[outcome.why];
    case 'passkeyRequired':
      return 'passkey_required';
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

const CODE_REASONS = { unclear: 'link_code_refused', later: 'link_code_limited', never: 'link_qr_only' } as const;

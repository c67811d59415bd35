import type { DeviceView } from '@gateway/contracts/console/views';
import { useTranslation } from 'react-i18next';
import type { Tone } from '../../components/states/state-mark.js';

/** Reasons that end only when a person does something. */
const NEEDS_PEOPLE: ReadonlySet<string> = new Set([
  ...['logged_out', 'replaced', 'banned', 'temporarily_banned', 'client_outdated', 'not_multi_device'],
  ...['untrusted', 'keys_unreadable', 'no_sender', 'passkey_required'],
]);

export function toneOf({ status, reason, restriction }: Pick<DeviceView, 'status' | 'reason' | 'restriction'>): Tone {
  if (reason !== undefined && NEEDS_PEOPLE.has(reason)) return 'bad';
  if (status === 'connecting' || restriction || reason === 'awaiting_backlog') return 'warn';
  return status === 'connected' ? 'good' : 'idle';
}

/** Why it is in that state, and what helps, as a sentence; `undefined` where there is nothing to say. */
export function useReasonText(): (view: DeviceView) => string | undefined {
  const { t } = useTranslation();
  return ({ reason }) => (reason === undefined ? undefined : t(`reasons.${reason}`));
}

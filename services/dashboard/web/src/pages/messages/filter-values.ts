import type { SendKind } from '@gateway/contracts/content/message-content';
import { RECIPIENT_STATUSES, type SendStatus } from '@gateway/contracts/sends/statuses';

/** What the list of sends can be filtered by. */
export const KINDS: readonly SendKind[] = ['text', 'media', 'otp'];
export const STATUSES: readonly SendStatus[] = ['sending', ...RECIPIENT_STATUSES];

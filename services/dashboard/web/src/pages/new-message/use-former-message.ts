import type { SendView } from '@gateway/contracts/console/send-views';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { useQuery } from '@tanstack/react-query';
import { readContent, readRecipients } from '../../api/messages.js';
import { request } from '../../api/request.js';

/** Another attempt would end the same, is not wanted, or, when accounts changed, may show the message a second time. */
const NEVER = ['recipient_opted_out', 'not_on_messenger', 'person_forgotten', 'account_changed'];

export interface FormerMessage {
  device: string;
  text: string;
  numbers: string[];
}

/** What a send said, and to whom it did not get, but for those who must not be tried again. */
export function useFormerMessage(id: string | undefined) {
  return useQuery({
    queryKey: ['former', id],
    queryFn: () => readFormer(id!),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}

async function readFormer(id: string): Promise<FormerMessage> {
  const [{ message }, content] = await Promise.all([
    request<{ message: SendView }>(`/messages/${id}`),
    readContent(id),
  ]);
  const places = [...message.statuses].flatMap((code, place) => {
    const status = RECIPIENT_STATUSES[Number(code)];
    return status === 'failed' || status === 'expired' ? [place] : [];
  });
  const rows = await readRecipients(id, places);
  const numbers = rows.filter(({ error = '' }) => !NEVER.includes(error)).map(({ to }) => `+${to}`);
  return { device: message.device, text: content.text ?? '', numbers };
}

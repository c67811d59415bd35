import type {
  PhoneView,
  RecipientRow,
  SendContent,
  SendPreview,
  SendSummary,
  SendView,
} from '@gateway/contracts/console/send-views';
import type { SendKind } from '@gateway/contracts/content/message-content';
import type { SendStatus } from '@gateway/contracts/sends/statuses';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { nowMs } from './clock.js';
import { queryClient } from './query-client.js';
import { request } from './request.js';
import { useLive } from './use-live.js';

export interface MessageFilter {
  device?: string | undefined;
  status?: SendStatus | undefined;
  kind?: SendKind | undefined;
  /** Of the last so many days. */
  days?: number | undefined;
}

interface MessagePage {
  messages: SendSummary[];
  next: string | null;
}

const KEY = ['messages'];
const DAY_MS = 86_400_000;

/** All sends that pass the filter, the newest first, page by page. */
export function useMessages(filter: MessageFilter) {
  return useInfiniteQuery({
    queryKey: [...KEY, filter],
    queryFn: ({ pageParam }) => readPage({ ...filter, after: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ messages }) => messages),
  });
}

/** The newest of all, as they are now. */
export function useNewestMessages() {
  return useLive('messages', async () => (await readPage({})).messages);
}

function readPage({ device, status, kind, days, after }: MessageFilter & { after?: string }): Promise<MessagePage> {
  const query = new URLSearchParams({
    ...(device && { device }),
    ...(status && { status }),
    ...(kind && { kind }),
    ...(days && { since: String(nowMs() - days * DAY_MS) }),
    ...(after && { after }),
  });
  return request<MessagePage>(`/messages?${query}`);
}

export function useMessage(id: string) {
  return useLive<SendView | null>(
    `send.${id}`,
    async () => (await request<{ message: SendView }>(`/messages/${id}`)).message,
  );
}

/** What it says, for those who may read it. */
export function useContent(id: string, isAllowed: boolean) {
  return useQuery({ ...contentQuery(id), enabled: isAllowed });
}

const contentQuery = (id: string) => ({
  queryKey: ['content', id],
  queryFn: async () => (await request<{ content: SendContent }>(`/messages/${id}/content`)).content,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The same, once. It may be gone where this page has it still: at the end of a send that reached no phone. */
export const readContent = (id: string) => queryClient.fetchQuery(contentQuery(id));

const ROWS_AT_ONCE = 1_000;

/** The recipients in these places, however many. */
export async function readRecipients(id: string, places: readonly number[]): Promise<RecipientRow[]> {
  const rows: RecipientRow[] = [];
  for (let from = 0; from < places.length; from += ROWS_AT_ONCE) {
    const at = places.slice(from, from + ROWS_AT_ONCE).join();
    rows.push(...(await request<{ recipients: RecipientRow[] }>(`/messages/${id}/recipients?at=${at}`)).recipients);
  }
  return rows;
}

/** A send to a number, and the place of the number in it. */
export interface FoundSend extends SendSummary {
  recipient: number;
}

/** The newest sends to a number, in any of its spellings. */
export const findMessages = async (json: { phone: string } | { networkId: string }) =>
  (await request<{ messages: FoundSend[] }>('/messages/find', { json })).messages;

/** On a simulated network: what a recipient's phone shows of a send. It is read again with each status. */
export function usePhone(id: string, place: number, status: string | undefined) {
  return useQuery({
    queryKey: ['phone', id, place, status],
    queryFn: async () => (await request<{ phone: PhoneView }>(`/messages/${id}/phone?at=${place}`)).phone,
    placeholderData: (former, query) => (query?.queryKey[2] === place ? keepPreviousData(former) : undefined),
    staleTime: 0,
  });
}

export const cancelMessage = (id: string) => request(`/messages/${id}/cancel`, { json: {} });

export const previewMessage = async (json: { device: string; to: readonly string[]; parts: number }) =>
  (await request<{ preview: SendPreview }>('/messages/preview', { json })).preview;

export interface NewMessage {
  device: string;
  /** The same for each attempt to send this form. */
  key: string;
  message: {
    to: readonly string[];
    text?: string;
    attachment?: { type: string; base64: string; filename: string };
  };
}

export async function sendMessage(json: NewMessage): Promise<string> {
  const { messageId } = await request<{ messageId: string }>('/messages', { json });
  void queryClient.invalidateQueries({ queryKey: KEY });
  return messageId;
}

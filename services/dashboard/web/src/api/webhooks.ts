import type { TestResult, WebhookPage, WebhookView } from '@gateway/contracts/console/webhook-views';
import { useQuery } from '@tanstack/react-query';
import { keyOf, queryClient } from './query-client.js';
import { request } from './request.js';
import { useLive } from './use-live.js';

/** The oldest first. */
export function useWebhooks() {
  return useLive('webhooks', async () => (await request<{ webhooks: WebhookView[] }>('/webhooks')).webhooks);
}

/** `null` when it was deleted meanwhile. */
export function useWebhook(id: string) {
  return useLive<WebhookPage | null>(
    `webhook.${id}`,
    async () => (await request<{ page: WebhookPage }>(`/webhooks/${encodeURIComponent(id)}`)).page,
  );
}

/** What an endpoint can be told. */
export function useWebhookTypes() {
  return useQuery({
    queryKey: ['webhook-types'],
    queryFn: async () => (await request<{ types: string[] }>('/webhooks/types')).types,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export interface WebhookWishes {
  url?: string;
  headers?: Record<string, string>;
  description?: string;
  /** Without them it is told the usual ones. */
  types?: readonly string[];
  devices?: readonly string[] | null;
  content?: string;
  numbers?: string;
  order?: string;
  gatherSeconds?: number;
  concurrency?: number;
  /** Of a new one only. */
  signature?: string;
}

export interface MadeWebhook {
  id: string;
  /** Or the public key. It is never told again. */
  secret: string;
}

export async function createWebhook(json: WebhookWishes): Promise<MadeWebhook> {
  const made = await request<MadeWebhook>('/webhooks', { json });
  await refresh(made.id);
  return made;
}

export const changeWebhook = ({ id, wishes }: { id: string; wishes: WebhookWishes }) => act(id, 'change', wishes);

export const testWebhook = async (id: string) => (await act<{ result: TestResult }>(id, 'test')).result;

export const rotateWebhook = async ({ id, overlapHours }: { id: string; overlapHours: number }) =>
  (await act<{ secret: string }>(id, 'rotate', { overlapHours })).secret;

export const pauseWebhook = (id: string) => act(id, 'pause');
export const resumeWebhook = (id: string) => act(id, 'resume');
export const deleteWebhook = (id: string) => request(`/webhooks/${encodeURIComponent(id)}/delete`, { json: {} });

async function act<Answer>(id: string, what: string, json: object = {}): Promise<Answer> {
  const answer = await request<Answer>(`/webhooks/${encodeURIComponent(id)}/${what}`, { json });
  await refresh(id);
  return answer;
}

async function refresh(id: string): Promise<void> {
  const topics = [`webhook.${id}`, 'webhooks'];
  await Promise.all(topics.map((topic) => queryClient.invalidateQueries({ queryKey: keyOf(topic) })));
}

/** Events, or all from one time (ISO 8601) until another. */
export type ReplayWishes = { ids: readonly string[] } | { after: string; before?: string };

export const replayWebhook = ({ id, what }: { id: string; what: ReplayWishes }) => act(id, 'replay', what);

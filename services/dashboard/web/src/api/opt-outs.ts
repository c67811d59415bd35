import type { OptOutView } from '@gateway/contracts/console/views';
import { useInfiniteQuery } from '@tanstack/react-query';
import { queryClient } from './query-client.js';
import { request } from './request.js';

const KEY = ['opt-outs'];

interface OptOutPage {
  optOuts: OptOutView[];
  total: number;
  next: string | null;
}

/** The list, page by page, in no particular order. */
export function useOptOuts() {
  return useInfiniteQuery({
    queryKey: KEY,
    queryFn: ({ pageParam }) =>
      request<OptOutPage>(`/opt-outs${pageParam && `?${new URLSearchParams({ after: pageParam })}`}`),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => ({ total: pages.at(-1)?.total ?? 0, people: pages.flatMap(({ optOuts }) => optOuts) }),
  });
}

export interface FoundOptOut extends Partial<OptOutView> {
  optedOut: boolean;
}

export const findOptOut = (person: string) => request<FoundOptOut>('/opt-outs/find', { json: { person } });

export interface AddedOptOuts {
  added: number;
  unchanged: number;
  duplicates: number;
}

export async function addOptOuts(phones: readonly string[]): Promise<AddedOptOuts> {
  const answer = await request<AddedOptOuts>('/opt-outs', { json: { phones } });
  refresh();
  return answer;
}

export async function liftOptOut(person: string): Promise<void> {
  await request('/opt-outs/lift', { json: { person } });
  refresh();
}

function refresh(): void {
  void queryClient.invalidateQueries({ queryKey: KEY });
}

import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveState } from './live.js';
import { keyOf, live, queryClient } from './query-client.js';

/** What a topic says: read once by a request, which can fail and say why, and from then on by the stream of this tab. */
export function useLive<Data>(topic: string, read: () => Promise<Data>): UseQueryResult<Data, Error> {
  useEffect(() => live.follow(topic), [topic]);
  return useQuery({ queryKey: keyOf(topic), queryFn: () => readUnlessTold(topic, read) });
}

/** What the stream tells while the answer is on its way is newer, and is not told again. */
async function readUnlessTold<Data>(topic: string, read: () => Promise<Data>): Promise<Data> {
  const stateOf = () => queryClient.getQueryState<Data>(keyOf(topic));
  const before = stateOf()?.dataUpdateCount;
  const answer = await read();
  const now = stateOf();
  return now?.data !== undefined && now.dataUpdateCount !== before ? now.data : answer;
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(live.subscribe, live.read);
}

import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveState } from './live.js';
import { keyOf, live } from './query-client.js';

/** What a topic says: read once by a request, which can fail and say why, and from then on by the stream of this tab. */
export function useLive<Data>(topic: string, read: () => Promise<Data>): UseQueryResult<Data, Error> {
  useEffect(() => live.follow(topic), [topic]);
  return useQuery({ queryKey: keyOf(topic), queryFn: read });
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(live.subscribe, live.read);
}

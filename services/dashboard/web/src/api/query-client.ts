import { QueryCache, QueryClient } from '@tanstack/react-query';
import { LiveConnection } from './live.js';
import { RequestFailure } from './request.js';

/** What is worth another attempt by itself: no answer, or one that says "later". */
function mayPass(error: Error): boolean {
  return error instanceof RequestFailure && (error.status === 0 || error.status === 503);
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      networkMode: 'always',
      retry: (count, error) => count < 2 && mayPass(error),
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({
    // A session that has ended is noticed by whatever is asked next.
    onError: (error) => {
      if (error instanceof RequestFailure && error.code === 'not_signed_in') forgetMe();
    },
  }),
});

/** Where the data of a topic lie: under its own name, so that a stream and a request fill the same place. */
export const keyOf = (topic: string) => ['topic', topic] as const;

export const live = new LiveConnection(
  (topic, data) => queryClient.setQueryData(keyOf(topic), data),
  () => void queryClient.invalidateQueries({ queryKey: ['me'] }),
);

/** No one is signed in, as far as this page knows, and nothing that was read stays. */
export function forgetMe(): void {
  queryClient.setQueryData(['me'], null);
  queryClient.removeQueries({ queryKey: ['topic'] });
}

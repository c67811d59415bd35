import type { Me } from '@gateway/contracts/console/views';
import { useQuery } from '@tanstack/react-query';
import { forgetMe, queryClient } from './query-client.js';
import { request } from './request.js';

/** `null` when no one is signed in. */
export const meQuery = {
  queryKey: ['me'],
  queryFn: async (): Promise<Me | null> => {
    const me = await request<Me | { user: null }>('/me');
    return me.user ? me : null;
  },
  staleTime: 60_000,
} as const;

/** Of the pages that are shown to someone who is signed in. */
export function useMe(): Me {
  const { data } = useQuery(meQuery);
  return data ?? NO_ONE;
}

const NO_ONE: Me = {
  user: { name: '', role: 'viewer', hasPassword: true },
  api: { url: '' },
  workspace: '',
  isSimulated: false,
};

async function enter(answer: Promise<Me>): Promise<Me> {
  const me = await answer;
  queryClient.setQueryData(['me'], me);
  return me;
}

export const signIn = (json: { name: string; password: string }) => enter(request<Me>('/sign-in', { json }));

export const signInByLink = (secret: string) => enter(request<Me>('/sign-in/link', { json: { secret } }));

export const setPassword = (json: { password: string; former?: string }) =>
  enter(request<Me>('/me/password', { json }));

export async function signOut({ everywhere }: { everywhere: boolean }): Promise<void> {
  await request(everywhere ? '/sign-out-everywhere' : '/sign-out', { json: {} });
  forgetMe();
}

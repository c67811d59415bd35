import type { UserRole } from '@gateway/contracts/console/users';
import type { SessionView, UserView } from '@gateway/contracts/console/views';
import { useQuery } from '@tanstack/react-query';
import { queryClient } from './query-client.js';
import { request } from './request.js';

const KEY = ['users'];

export function useUsers() {
  return useQuery({ queryKey: KEY, queryFn: async () => (await request<{ users: UserView[] }>('/users')).users });
}

/** Where the user of this page is signed in. */
export function useSessions() {
  return useQuery({
    queryKey: ['sessions'],
    queryFn: async () => (await request<{ sessions: SessionView[] }>('/me/sessions')).sessions,
  });
}

/** Signs a user in, once, within ten minutes. */
export interface UserLink {
  name: string;
  url: string;
}

export const createUser = (json: { name: string; role: UserRole }): Promise<UserLink> =>
  refreshing(async () => {
    const { user, secret } = await request<{ user: UserView; secret: string }>('/users', { json });
    return toLink(user.name, secret);
  });

export async function makeUserLink(name: string): Promise<UserLink> {
  const { secret } = await request<{ secret: string }>(`/users/${encodeURIComponent(name)}/link`, { json: {} });
  return toLink(name, secret);
}

export const setUserRole = ({ name, role }: { name: string; role: UserRole }) =>
  refreshing(() => request(`/users/${encodeURIComponent(name)}/role`, { json: { role } }));

export const removeUser = (name: string) =>
  refreshing(() => request(`/users/${encodeURIComponent(name)}/remove`, { json: {} }));

/** After the `#`: browsers send that part to no server. */
function toLink(name: string, secret: string): UserLink {
  return { name, url: `${window.location.origin}/console/sign-in#link=${secret}` };
}

async function refreshing<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const answer = await work();
  await queryClient.invalidateQueries({ queryKey: KEY });
  return answer;
}

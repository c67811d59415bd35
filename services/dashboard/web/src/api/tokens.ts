import type { ApiTokenScope } from '@gateway/contracts/api-token';
import type { TokenView } from '@gateway/contracts/console/views';
import { useQuery } from '@tanstack/react-query';
import { queryClient } from './query-client.js';
import { request } from './request.js';
import { useLive } from './use-live.js';

const KEY = ['tokens'];
const readTokens = async () => (await request<{ tokens: TokenView[] }>('/tokens')).tokens;

/** The newest first. */
export function useTokens({ enabled = true } = {}) {
  return useQuery({ queryKey: KEY, queryFn: readTokens, enabled });
}

/** One token, whose first use is told within a second. */
export function useToken(keyId: string) {
  return useLive<TokenView | null>(
    `token.${keyId}`,
    async () => (await readTokens()).find((token) => token.keyId === keyId) ?? null,
  );
}

export interface NewToken {
  name: string;
  device?: string;
  scopes: ApiTokenScope[];
  expiresInDays?: number;
}

export interface MadeToken {
  /** The token itself. It is never told again. */
  value: string;
  token: TokenView;
}

export async function createToken(json: NewToken): Promise<MadeToken> {
  const made = await request<MadeToken>('/tokens', { json });
  refreshTokens();
  return made;
}

export async function revokeToken(keyId: string): Promise<void> {
  await request(`/tokens/${keyId}/revoke`, { json: {} });
  refreshTokens();
}

export function refreshTokens(): void {
  void queryClient.invalidateQueries({ queryKey: KEY });
}

import type { TokenView } from '@gateway/contracts/console/views';
import { type ApiToken, isUsable } from '@gateway/store/workspace/tokens/api-tokens';

export function describeToken(token: ApiToken, nowMs: number): TokenView {
  const { hash: _hash, owner: _owner, ...rest } = token;
  const state = isUsable(token, nowMs) ? 'active' : token.revokedAtMs === undefined ? 'expired' : 'revoked';
  return { ...rest, state };
}

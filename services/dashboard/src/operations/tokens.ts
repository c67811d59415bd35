import { API_TOKEN_SCOPES, type ApiTokenScope, DEFAULT_SCOPES } from '@gateway/contracts/api-token';
import { isDeviceId } from '@gateway/contracts/ids';
import { createApiToken, listApiTokens, revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import Joi from 'joi';
import { ConsoleError } from '../http/console-error.js';
import { operation } from '../http/operation.js';
import { describeToken } from '../views/token-view.js';

export const listTokens = operation({
  method: 'get',
  path: '/tokens',
  for: 'admin',
  async handle(_call, { store, workspace, clock }) {
    const tokens = await listApiTokens(store, workspace);
    return { body: { tokens: tokens.reverse().map((token) => describeToken(token, clock.nowMs())) } };
  },
});

interface NewToken {
  name: string;
  device?: string;
  scopes: ApiTokenScope[];
  /** Never without it. */
  expiresInDays?: number;
}

/** Answers with the value, this once. */
export const createToken = operation<NewToken>({
  method: 'post',
  path: '/tokens',
  for: 'admin',
  body: Joi.object({
    name: Joi.string().trim().min(1).max(100).required(),
    device: Joi.string().custom((value: string) => {
      if (!isDeviceId(value)) throw new Error('must be the id of a device');
      return value;
    }),
    scopes: Joi.array()
      .items(Joi.string().valid(...API_TOKEN_SCOPES))
      .min(1)
      .unique()
      .default([...DEFAULT_SCOPES]),
    expiresInDays: Joi.number().integer().min(1).max(3_650),
  }),
  async handle({ body: { expiresInDays, ...options } }, { store, workspace, clock }) {
    const nowMs = clock.nowMs();
    const expiresAtMs = expiresInDays && nowMs + expiresInDays * 24 * 60 * 60 * 1000;
    const wanted = { ...options, ...(expiresAtMs && { expiresAtMs }) };
    const { value, token } = await createApiToken(store, workspace, wanted, { mustBeThere: true });
    return {
      status: 201,
      body: { value, token: describeToken(token, nowMs) },
      audit: { action: 'token.created', target: token.keyId },
    };
  },
});

/** Safe to repeat. */
export const revokeToken = operation({
  method: 'post',
  path: '/tokens/:keyId/revoke',
  for: 'admin',
  async handle({ params: { keyId = '' } }, { store, workspace, clock }) {
    const token = await revokeApiToken(store, workspace, keyId);
    if (!token) throw new ConsoleError('not_found');
    return {
      body: { token: describeToken(token, clock.nowMs()) },
      audit: { action: 'token.revoked', target: keyId },
    };
  },
});

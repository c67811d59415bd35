import { API_TOKEN_SCOPES, type ApiTokenScope, DEFAULT_SCOPES, makeApiToken } from '@gateway/contracts/api-token';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import { isPermanent } from '@gateway/contracts/keys-of-workspace';
import { LIMITS } from '@gateway/contracts/limits';
import { deletedWorkspacesKey, passingTokensKey, workspaceKeys, workspacesKey } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript, flag, mixed, number, type ScriptArgument, text } from '../../core/scripts/define-script.js';
import { isOne } from '../../core/scripts/replies.js';
import { type Store, writeAlways } from '../../core/store.js';
import { WorkspaceGoneError } from '../../core/workspace-gone-error.js';
import { forgetWorkspacesOfTokens, noteWorkspaceOfToken } from './token-index.js';

const recordUse = defineScript({
  name: 'record-token-use',
  whenFull: 'runs',
  keys: ['token'],
  args: { nowMs: number, leastMs: number },
  reply: isOne,
});

const changeToken = defineScript({
  name: 'change-token',
  whenFull: 'runs',
  keys: ['token'],
  args: { field: text, value: mixed, isOnce: flag },
  reply: isOne,
});

/** The stored part of a token: enough to recognise it, not to reconstruct it. */
export interface ApiToken {
  keyId: string;
  /** Of its place; never changes. */
  workspace: Workspace;
  /** For people. */
  name: string;
  /** SHA-256 of the whole token, hex. */
  hash: string;
  /** Acts on this device only; without one on the workspace's default device. */
  device?: DeviceId;
  scopes: readonly ApiTokenScope[];
  /** Owner of the sends that it may read and cancel: its own key id, or that of the first token that it was rotated from. */
  owner: string;
  createdAtMs: number;
  expiresAtMs?: number;
  revokedAtMs?: number;
  /** To the minute. */
  lastUsedAtMs?: number;
  /** Shown by a part of the gateway, which acts for a user and says itself what was done: see `createPassingToken`. */
  isPassing?: true;
}

const USE_INTERVAL_MS = 60_000;

export interface NewToken {
  name: string;
  device?: DeviceId;
  /** Default `DEFAULT_SCOPES`. */
  scopes?: readonly ApiTokenScope[];
  /** Default its own key id. */
  owner?: string;
  expiresAtMs?: number;
}

/**
 * Makes a token. The value is returned this once and stored nowhere.
 * @param how.mustBeThere for an operator: throws `WorkspaceGoneError` where there is no such workspace, as the token would be one of
 * the next one of its name.
 */
export async function createApiToken(
  store: Store,
  workspace: Workspace,
  options: NewToken,
  { mustBeThere = false }: { mustBeThere?: boolean } = {},
): Promise<{ value: string; token: ApiToken }> {
  const since = mustBeThere ? await readPresent(store, workspace) : await readWorkspaceState(store, workspace);
  return writeNewToken(store, workspace, options, { isListed: true, since });
}

/** For as long as a send may wait, and be read afterwards: it still says who made it. */
const PASSING_RECORD_MS = 1000 * (LIMITS.sendExpirySeconds + LIMITS.sendRetentionSeconds + 24 * 60 * 60);

/**
 * A token that is in no list, for a part of the gateway that acts for a user. Its record goes by itself, after nine days. Throws
 * `WorkspaceGoneError` where there is no such workspace.
 */
export async function createPassingToken(
  store: Store,
  workspace: Workspace,
  options: NewToken & { expiresAtMs: number },
): Promise<{ value: string; token: ApiToken }> {
  const since = await readPresent(store, workspace);
  const made = await writeNewToken(store, workspace, options, { isListed: false, since });
  const { keyId } = made.token;
  await store.redis.pexpire(workspaceKeys(store.space, workspace).token(keyId), PASSING_RECORD_MS);
  await writeAlways(store, 'ZADD', passingTokensKey(store.space), options.expiresAtMs, keyId);
  // Of those whose node is away, the next one does.
  await forgetPassed(store).catch(() => {});
  return made;
}

/**
 * The key id of a token that opens no door, for an operator who changes something: it goes with the workspace, so what comes after that
 * writes nothing into the next one of its name. Throws `WorkspaceGoneError` where that workspace is gone already.
 * @param of.madeAtMs for who has made it. Default: the one that is there.
 */
export async function createProof(
  store: Store,
  workspace: Workspace,
  name: string,
  { madeAtMs }: { madeAtMs?: number } = {},
): Promise<string> {
  const { madeAt } = await readPresent(store, workspace);
  if (madeAtMs !== undefined && madeAt !== `${madeAtMs}`) throw new WorkspaceGoneError();
  const { token } = await createPassingToken(store, workspace, { name, expiresAtMs: systemClock.nowMs() });
  if (madeAt !== (await readPresent(store, workspace)).madeAt) throw new WorkspaceGoneError();
  return token.keyId;
}

/** Throws `WorkspaceGoneError` for one that is not there, or is being deleted. */
async function readPresent(store: Store, workspace: Workspace): Promise<WorkspaceState> {
  const state = await readWorkspaceState(store, workspace);
  if (state.isBeingDeleted || (state.madeAt === null && !isPermanent(workspace))) throw new WorkspaceGoneError();
  return state;
}

interface WorkspaceState {
  isBeingDeleted: boolean;
  /** `null` for one that is on no list. */
  madeAt: string | null;
}

async function readWorkspaceState({ redis, space }: Store, workspace: Workspace): Promise<WorkspaceState> {
  const [isDeleted, madeAt] = await Promise.all([
    redis.sismember(deletedWorkspacesKey(space), workspace),
    redis.hget(workspacesKey(space), workspace),
  ]);
  return { isBeingDeleted: isDeleted === 1, madeAt };
}

/** Throws `WorkspaceGoneError` where the workspace of a token has been deleted, with that. */
export async function requireProof(store: Store, workspace: Workspace, keyId: string): Promise<void> {
  const { token } = workspaceKeys(store.space, workspace);
  if ((await store.redis.exists(token(keyId))) === 0) throw new WorkspaceGoneError();
}

/** Takes tokens that have ended out of the index, which would grow for ever. */
async function forgetPassed(store: Store): Promise<void> {
  const key = passingTokensKey(store.space);
  const passed = await store.redis.zrangebyscore(key, 0, systemClock.nowMs());
  if (passed.length === 0) return;
  await forgetWorkspacesOfTokens(store, passed);
  await store.redis.zrem(key, ...passed);
}

async function writeNewToken(
  store: Store,
  workspace: Workspace,
  options: NewToken,
  { isListed, since }: { isListed: boolean; since: WorkspaceState },
): Promise<{ value: string; token: ApiToken }> {
  if (since.isBeingDeleted) throw new WorkspaceGoneError();
  const { keyId, token: value, hash } = makeApiToken();
  const kept = { keyId, hash, createdAtMs: systemClock.nowMs(), scopes: DEFAULT_SCOPES, owner: keyId, ...options };
  const keys = workspaceKeys(store.space, workspace);
  const fields = Object.entries({ ...kept, scopes: kept.scopes.join(), ...(!isListed && { isPassing: 1 }) });
  await writeAlways(store, 'HSET', keys.token(keyId), ...fields.flat());
  if (isListed) await writeAlways(store, 'SADD', keys.tokens, keyId);
  // Last, so that the index never leads to an incomplete record.
  await noteWorkspaceOfToken(store, keyId, workspace);
  const after = await readWorkspaceState(store, workspace);
  if (after.isBeingDeleted || after.madeAt !== since.madeAt) {
    await forgetWorkspacesOfTokens(store, [keyId]);
    await store.redis.srem(keys.tokens, keyId);
    await store.redis.unlink(keys.token(keyId));
    throw new WorkspaceGoneError();
  }
  return { value, token: { ...kept, workspace } };
}

/**
 * Creates a token that replaces another: the same name, device, scopes and owner, and by default the
 * same lifetime. The old one works until it is revoked. `undefined` when there is no such token.
 */
export async function rotateApiToken(
  store: Store,
  workspace: Workspace,
  keyId: string,
  { expiresAtMs }: { expiresAtMs?: number | undefined },
): Promise<{ value: string; token: ApiToken } | undefined> {
  const since = await readWorkspaceState(store, workspace);
  const old = await findApiToken(store, workspace, keyId);
  if (!old) return undefined;
  const { name, device, scopes, owner } = old;
  const endMs = expiresAtMs ?? (old.expiresAtMs && systemClock.nowMs() + old.expiresAtMs - old.createdAtMs);
  const next = { name, scopes, owner, ...(device && { device }), ...(endMs && { expiresAtMs: endMs }) };
  return writeNewToken(store, workspace, next, { isListed: true, since });
}

/** Works within a second, on every replica of the api, and after a failover. `undefined` when there is no such token. */
export async function setApiTokenScopes(
  store: Store,
  workspace: Workspace,
  keyId: string,
  scopes: readonly ApiTokenScope[],
): Promise<ApiToken | undefined> {
  return change(store, workspace, keyId, { field: 'scopes', value: scopes.join(), isOnce: false });
}

/** Writes nothing where the token has gone, with its workspace. */
async function change(
  store: Store,
  workspace: Workspace,
  keyId: string,
  to: { field: 'scopes' | 'revokedAtMs'; value: ScriptArgument; isOnce: boolean },
): Promise<ApiToken | undefined> {
  const token = workspaceKeys(store.space, workspace).token(keyId);
  if (!(await changeToken(store, { token, ...to }))) return undefined;
  await store.confirmWrites(token);
  return findApiToken(store, workspace, keyId);
}

/** By the key id that the token carries. `undefined` for one of another workspace. */
export async function findApiToken(store: Store, workspace: Workspace, keyId: string): Promise<ApiToken | undefined> {
  const fields = await store.redis.hgetall(workspaceKeys(store.space, workspace).token(keyId));
  return fields.hash ? toApiToken(workspace, keyId, fields) : undefined;
}

/** Whether it opens the door now: neither revoked nor past its end. */
export function isUsable({ revokedAtMs, expiresAtMs }: ApiToken, nowMs: number): boolean {
  return revokedAtMs === undefined && (expiresAtMs === undefined || nowMs < expiresAtMs);
}

/** All tokens, oldest first, revoked and expired ones too. */
export async function listApiTokens(store: Store, workspace: Workspace): Promise<ApiToken[]> {
  const keyIds = await store.redis.smembers(workspaceKeys(store.space, workspace).tokens);
  const tokens = await Promise.all(keyIds.map((keyId) => findApiToken(store, workspace, keyId)));
  return tokens.filter((token) => token !== undefined).sort((a, b) => a.createdAtMs - b.createdAtMs);
}

/** Works within a second, on every replica of the api, and after a failover. Safe to repeat: the first time counts. */
export async function revokeApiToken(store: Store, workspace: Workspace, keyId: string): Promise<ApiToken | undefined> {
  return change(store, workspace, keyId, { field: 'revokedAtMs', value: systemClock.nowMs(), isOnce: true });
}

/**
 * Remembers that a token was used, here and in Redis; writes at most once a minute per token, on however many replicas, and returns
 * nothing when there is nothing to write.
 */
export function recordTokenUse(store: Store, token: ApiToken, nowMs: number): Promise<unknown> | undefined {
  if (nowMs - (token.lastUsedAtMs ?? 0) < USE_INTERVAL_MS) return undefined;
  token.lastUsedAtMs = nowMs;
  const key = workspaceKeys(store.space, token.workspace).token(token.keyId);
  return recordUse(store, { token: key, nowMs, leastMs: USE_INTERVAL_MS });
}

function toApiToken(workspace: Workspace, keyId: string, fields: Record<string, string>): ApiToken {
  const token: ApiToken = {
    keyId,
    workspace,
    name: fields.name ?? '',
    hash: fields.hash ?? '',
    scopes: toScopes(fields.scopes),
    owner: fields.owner || keyId,
    createdAtMs: Number(fields.createdAtMs),
  };
  if (fields.device) token.device = fields.device;
  if (fields.isPassing) token.isPassing = true;
  for (const time of ['expiresAtMs', 'revokedAtMs', 'lastUsedAtMs'] as const) {
    if (fields[time]) token[time] = Number(fields[time]);
  }
  return token;
}

/** Unknown names give no access; a token from before there were scopes has no list. */
function toScopes(list: string | undefined): readonly ApiTokenScope[] {
  if (list === undefined) return DEFAULT_SCOPES;
  const names = list.split(',');
  return API_TOKEN_SCOPES.filter((scope) => names.includes(scope));
}

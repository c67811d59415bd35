import type { Account, Restrictions } from './account.js';

/** Until when an account may not write to strangers, as clients are told. */
export function reachoutTimelock({ restrictions }: Account, nowMs: number): object {
  const { reachoutLockedUntilMs = 0, reachoutLockType = 'DEFAULT' } = restrictions;
  const active = reachoutLockedUntilMs > nowMs;
  return {
    is_active: active,
    time_enforcement_ends: active ? String(Math.ceil(reachoutLockedUntilMs / 1000)) : '0',
    enforcement_type: active ? reachoutLockType : 'DEFAULT',
  };
}

/** How many new conversations an account may open, as clients are told. */
export function messageCapping(account: Account, nowMs: number): object {
  const cap = currentCap(account, nowMs);
  return {
    total_quota: cap?.total ?? -1,
    used_quota: cap?.used ?? 0,
    cycle_start_timestamp: '0',
    cycle_end_timestamp: String(Math.ceil((cap?.endsAtMs ?? 0) / 1000)),
    server_sent_timestamp: '0',
    ote_status: 'NOT_ELIGIBLE',
    mv_status: 'NOT_ELIGIBLE',
    capping_status: cap && cap.used >= cap.total ? 'CAPPED' : 'NONE',
  };
}

/** The quota of the cycle that runs now. */
export function currentCap({ restrictions }: Account, nowMs: number): Restrictions['newChatCap'] {
  const { newChatCap: cap } = restrictions;
  if (cap?.endsAtMs && cap.endsAtMs <= nowMs) restrictions.newChatCap = { total: cap.total, used: 0 };
  return restrictions.newChatCap;
}

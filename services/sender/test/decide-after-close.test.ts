import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { type AfterClose, decideAfterClose } from '@gateway/sender/device/decide-after-close';
import { expect } from 'chai';

const NOW = 1_000_000;
const LONG = 5 * 60_000;
type Kind = DisconnectOutcome['kind'];
type Row = [DisconnectOutcome, AfterClose];

/** Every outcome there is: a new one without a row does not compile. */
const TABLE: Record<Kind, Row | Row[]> = {
  restart: [{ kind: 'restart', code: 515 }, { kind: 'reopenNow' }],
  reconnect: [
    [
      { kind: 'reconnect', code: 428, backoff: 'network' },
      { kind: 'reopen', reason: 'network', minMs: 0 },
    ],
    [
      { kind: 'reconnect', code: 503, backoff: 'server' },
      { kind: 'reopen', reason: 'network', minMs: 1_000 },
    ],
  ],
  unknown: [
    { kind: 'unknown', code: 500 },
    { kind: 'reopen', reason: 'network', minMs: 1_000 },
  ],
  keysUnreadable: [{ kind: 'keysUnreadable' }, { kind: 'reopen', reason: 'keys_unreadable', minMs: 1_000 }],
  rateLimited: [
    { kind: 'rateLimited', code: 429, minMs: 300_000 },
    { kind: 'reopen', reason: 'rate_limited', minMs: 300_000 },
  ],
  clientOutdated: [
    { kind: 'clientOutdated', code: 405 },
    // The whole fleet waits for another version, however long that takes: client-version.test.ts.
    { kind: 'reopen', reason: 'client_outdated', minMs: 0 },
  ],
  untrusted: [{ kind: 'untrusted' }, { kind: 'reopen', reason: 'untrusted', minMs: LONG }],
  temporarilyBanned: [
    [
      { kind: 'temporarilyBanned', code: 402, untilMs: NOW + 7_000 },
      { kind: 'reopen', reason: 'temporarily_banned', minMs: 7_000 },
    ],
    [
      { kind: 'temporarilyBanned', code: 402, untilMs: undefined },
      { kind: 'reopen', reason: 'temporarily_banned', minMs: LONG },
    ],
  ],
  replaced: [
    { kind: 'replaced', code: 440 },
    { kind: 'reopen', reason: 'replaced', minMs: 10_000 },
  ],
  loggedOut: [
    { kind: 'loggedOut', code: 401 },
    { kind: 'unlink', reason: 'logged_out', quarantine: true },
  ],
  linkExpired: [{ kind: 'linkExpired' }, { kind: 'unlink', reason: 'logged_out', quarantine: true }],
  linkRefused: [
    { kind: 'linkRefused', code: undefined },
    { kind: 'unlink', reason: 'logged_out', quarantine: true },
  ],
  codeRefused: [
    { kind: 'codeRefused', code: 452, why: 'never' },
    { kind: 'reopen', reason: 'network', minMs: 1_000 },
  ],
  passkeyRequired: [{ kind: 'passkeyRequired' }, { kind: 'reopen', reason: 'network', minMs: 1_000 }],
  notMultiDevice: [
    { kind: 'notMultiDevice', code: 411 },
    { kind: 'unlink', reason: 'not_multi_device', quarantine: true },
  ],
  banned: [
    { kind: 'banned', code: 403 },
    { kind: 'unlink', reason: 'banned', quarantine: true },
  ],
  closedByUs: [{ kind: 'closedByUs' }, { kind: 'release' }],
  fenced: [{ kind: 'fenced' }, { kind: 'release' }],
};

const isRows = (rows: Row | Row[]): rows is Row[] => Array.isArray(rows[0]);

describe('what an owner does after its socket has ended', () => {
  for (const [kind, entry] of Object.entries(TABLE)) {
    for (const [outcome, expected] of isRows(entry) ? entry : [entry]) {
      it(`${kind} -> ${expected.kind}${'reason' in expected ? ` (${expected.reason})` : ''}`, () => {
        expect(decideAfterClose(outcome, NOW)).to.deep.equal(expected);
      });
    }
  }

  it('lets one device rest after a refusal that is not about the version of all (409)', () => {
    expect(decideAfterClose({ kind: 'clientOutdated', code: 409 }, NOW)).to.deep.equal({
      ...{ kind: 'reopen', reason: 'client_outdated', minMs: LONG },
    });
  });

  it('wipes keys only where the network has said that they are worthless', () => {
    const rows = Object.values(TABLE).flatMap((entry) => (isRows(entry) ? entry : [entry]));
    const unlinking = rows.filter(([outcome]) => decideAfterClose(outcome, NOW).kind === 'unlink');
    expect(unlinking.map(([{ kind }]) => kind).sort()).to.deep.equal([
      ...['banned', 'linkExpired', 'linkRefused', 'loggedOut', 'notMultiDevice'],
    ]);
  });
});

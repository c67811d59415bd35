import { type DisconnectOutcome, toDisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { type DisconnectPolicy, disconnectPolicy } from '@gateway/messenger/codes/disconnect-policy';
import { DisconnectReason } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const NOW = 1_000_000;
const LONG = 5 * 60_000;
const CODE_REASONS = { unclear: 'link_code_refused', later: 'link_code_limited', never: 'link_qr_only' } as const;
type Kind = DisconnectOutcome['kind'];
type Row = [DisconnectOutcome, Omit<DisconnectPolicy, 'log'>];

/** Every outcome there is: a new one without a row does not compile. */
const TABLE: Record<Kind, Row[]> = {
  restart: [
    [
      { kind: 'restart', code: 515 },
      { next: 'reconnectNow', reason: 'restart' },
    ],
  ],
  reconnect: [
    [
      { kind: 'reconnect', code: 428, backoff: 'network' },
      { next: 'reconnect', reason: 'network' },
    ],
    [
      { kind: 'reconnect', code: 503, backoff: 'server' },
      { next: 'reconnect', reason: 'network', afterMs: 1_000 },
    ],
  ],
  stalled: [[{ kind: 'stalled' }, { next: 'reconnect', reason: 'network' }]],
  unknown: [
    [
      { kind: 'unknown', code: 500 },
      { next: 'reconnect', reason: 'network', afterMs: 1_000 },
    ],
  ],
  keysUnreadable: [[{ kind: 'keysUnreadable' }, { next: 'reconnect', reason: 'keys_unreadable', afterMs: 1_000 }]],
  rateLimited: [
    [
      { kind: 'rateLimited', code: 429, minMs: 300_000 },
      { next: 'reconnect', reason: 'rate_limited', afterMs: 300_000 },
    ],
  ],
  clientOutdated: [
    // The whole fleet waits for another version, however long that takes: client-version.test.ts.
    [
      { kind: 'clientOutdated', code: 405 },
      { next: 'stopFleet', reason: 'client_outdated' },
    ],
    [
      { kind: 'clientOutdated', code: 409 },
      { next: 'reconnect', reason: 'client_outdated', afterMs: LONG },
    ],
  ],
  frameTooLarge: [[{ kind: 'frameTooLarge' }, { next: 'reconnect', reason: 'network', afterMs: LONG }]],
  untrusted: [[{ kind: 'untrusted' }, { next: 'reconnect', reason: 'untrusted', afterMs: LONG }]],
  temporarilyBanned: [
    [
      { kind: 'temporarilyBanned', code: 402, untilMs: NOW + 7_000 },
      { next: 'reconnect', reason: 'temporarily_banned', afterMs: 7_000 },
    ],
    [
      { kind: 'temporarilyBanned', code: 402, untilMs: undefined },
      { next: 'reconnect', reason: 'temporarily_banned', afterMs: LONG },
    ],
  ],
  replaced: [
    [
      { kind: 'replaced', code: 440 },
      { next: 'reconnectOrPark', reason: 'replaced', afterMs: 10_000 },
    ],
  ],
  loggedOut: [
    [
      { kind: 'loggedOut', code: 401 },
      { next: 'deleteKeys', reason: 'logged_out' },
    ],
  ],
  linkExpired: [[{ kind: 'linkExpired' }, { next: 'deleteKeys', reason: 'link_expired' }]],
  linkRefused: [
    [
      { kind: 'linkRefused', code: undefined },
      { next: 'deleteKeys', reason: 'link_refused' },
    ],
  ],
  codeRefused: (['unclear', 'later', 'never'] as const).map((why) => [
    { kind: 'codeRefused', code: 452, why },
    { next: 'reconnect', reason: CODE_REASONS[why], afterMs: 1_000 },
  ]),
  passkeyRequired: [[{ kind: 'passkeyRequired' }, { next: 'reconnect', reason: 'passkey_required', afterMs: 1_000 }]],
  notMultiDevice: [
    [
      { kind: 'notMultiDevice', code: 411 },
      { next: 'deleteKeys', reason: 'not_multi_device' },
    ],
  ],
  banned: [
    [
      { kind: 'banned', code: 403 },
      { next: 'deleteKeys', reason: 'banned' },
    ],
  ],
  closedByUs: [[{ kind: 'closedByUs' }, { next: 'release', reason: 'network' }]],
  fenced: [[{ kind: 'fenced' }, { next: 'release', reason: 'network' }]],
};

/** What becomes of a linked device, for each code that a connection can end with. */
const CODES: Record<number, DisconnectPolicy['next']> = {
  401: 'deleteKeys',
  402: 'reconnect',
  403: 'deleteKeys',
  405: 'stopFleet',
  406: 'deleteKeys',
  408: 'reconnect',
  409: 'reconnect',
  411: 'deleteKeys',
  428: 'reconnect',
  429: 'reconnect',
  440: 'reconnectOrPark',
  500: 'reconnect',
  503: 'reconnect',
  515: 'reconnectNow',
  516: 'deleteKeys',
  599: 'reconnect',
};

describe('what follows the end of a session', () => {
  for (const [outcome, expected] of Object.values(TABLE).flat()) {
    it(`${Object.values(outcome).join(' ')} -> ${expected.next} (${expected.reason})`, () => {
      const { log, ...policy } = disconnectPolicy(outcome, NOW);
      expect(policy).to.deep.equal(expected);
      expect(log).to.match(/^[A-Z].*\.$/);
    });
  }

  it("is decided for every code, the library's too, and nothing but a word of the network costs keys", () => {
    const codes = Object.values(DisconnectReason).filter((code) => typeof code === 'number');
    expect(Object.keys(CODES).map(Number)).to.include.members(codes);
    for (const [code, next] of Object.entries(CODES)) {
      const output = { statusCode: Number(code) };
      const said = toDisconnectOutcome({ error: Object.assign(new Error('ended'), { output }), nowMs: NOW });
      expect(disconnectPolicy(said, NOW).next, code).to.equal(next);
      const broken = Object.assign(new Error('ended'), { output, data: new Error('a proxy on the way') });
      expect(disconnectPolicy(toDisconnectOutcome({ error: broken, nowMs: NOW }), NOW).next, code).to.equal(
        'reconnect',
      );
    }
  });

  it('costs keys only where the network has said that they are worthless', () => {
    const outcomes = Object.values(TABLE).flatMap((rows) => rows.map(([outcome]) => outcome));
    const costly = outcomes.filter((outcome) => disconnectPolicy(outcome, NOW).next === 'deleteKeys');
    expect(costly.map(({ kind }) => kind).sort()).to.deep.equal([
      ...['banned', 'linkExpired', 'linkRefused', 'loggedOut', 'notMultiDevice'],
    ]);
  });
});

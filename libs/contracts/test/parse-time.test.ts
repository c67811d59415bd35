import { parseTime } from '@gateway/contracts/parse-time';
import { expect } from 'chai';

describe('a time that someone writes', () => {
  it('is one of RFC 3339, in any zone and as fine as they like', () => {
    const atMs = Date.UTC(2026, 10, 21, 19);
    for (const [text, ms] of [
      ['2026-11-21T19:00:00Z', atMs],
      ['2026-11-21t19:00:00z', atMs],
      ['2026-11-21T21:00:00+02:00', atMs],
      ['2026-11-21T13:30:00-05:30', atMs],
      ['2026-11-21T19:00:00.123456789Z', atMs + 123],
      ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
      ['1970-01-01T00:00:00Z', 0],
      ['1969-12-31T23:59:59Z', -1_000],
    ] as const) {
      expect(parseTime(text), text).to.equal(ms);
    }
  });

  it('has a zone, and is on a day that exists', () => {
    const wrong = ['', 'yesterday', '2026', '2026-11-29', '2026-11-29 10:00', '2026-11-29 10:00:00Z'];
    const noZone = ['2026-11-29T10:00:00', '2026-11-29T10:00Z', '2026-11-29T10:00:00+02', '2026-11-29T10:00:00+25:00'];
    const noDay = ['2026-02-30T00:00:00Z', '2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-11-00T00:00:00Z'];
    const noHour = [
      '2026-11-29T24:00:00Z',
      '2026-11-29T10:60:00Z',
      '+275760-09-13T00:00:00Z',
      '-000001-01-01T00:00:00Z',
    ];
    for (const text of [...wrong, ...noZone, ...noDay, ...noHour]) expect(parseTime(text), text).to.equal(undefined);
  });
});

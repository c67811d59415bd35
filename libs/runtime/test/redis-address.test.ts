import { parseRedisUrl } from '@gateway/runtime/redis/redis-address';
import { expect } from 'chai';

describe('a Redis URL', () => {
  const nodes = [
    { host: 'a', port: 7000 },
    { host: 'b.example', port: 6379 },
    { host: '::1', port: 7001 },
  ];

  it('of one server is left as it is', () => {
    for (const url of ['redis://127.0.0.1:6379', 'redis://a/', 'rediss://user:p%40ss@host:6380/2', 'redis://a?db=20']) {
      expect(parseRedisUrl(url)).to.deep.equal({ kind: 'single', url });
    }
  });

  it('names the nodes of a Cluster', () => {
    expect(parseRedisUrl('redis+cluster://a:7000,b.example,[::1]:7001')).to.deep.equal({
      ...{ kind: 'cluster', nodes, isTls: false },
    });
    expect(parseRedisUrl('rediss+cluster://ann:p%40s:s@a:7000')).to.deep.equal({
      ...{ kind: 'cluster', nodes: [nodes[0]], isTls: true, username: 'ann', password: 'p@s:s' },
    });
  });

  it('names Sentinels, their master, and passwords of both', () => {
    expect(parseRedisUrl('redis+sentinel://s1,s2:5000/mymaster')).to.deep.equal({
      ...{ kind: 'sentinel', master: 'mymaster', db: 0, isTls: false, sentinelAccess: { isTls: false } },
      sentinels: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 5_000 },
      ],
    });
    const whole = 'rediss+sentinel://:secret@s1/my-master/3?sentinelUsername=sam&sentinelPassword=other';
    expect(parseRedisUrl(whole)).to.deep.equal({
      ...{ kind: 'sentinel', master: 'my-master', db: 3, isTls: true, password: 'secret' },
      ...{ sentinels: [{ host: 's1', port: 26_379 }] },
      sentinelAccess: { isTls: true, username: 'sam', password: 'other' },
    });
  });

  it('has the same password wherever it stands: a plus is a plus, and what is written with a % is what it stands for', () => {
    const url = 'redis+sentinel://a+b%25:a+b%25@s1/m?sentinelUsername=a+b%25&sentinelPassword=a+b%25';
    const access = { isTls: false, username: 'a+b%', password: 'a+b%' };
    expect(parseRedisUrl(url)).to.deep.include({ ...access, sentinelAccess: access });
  });

  it('that is wrong is refused with a reason, and never with its password', () => {
    const wrong: [string, RegExp][] = [
      ['http://secret@a', /must begin with/],
      ['redis+cluster://', /must begin with/],
      ['redis+cluster://:secret@a:70000', /HOST:PORT/],
      ['redis+cluster://:secret@a,,b', /HOST:PORT/],
      ['redis+cluster://:secret@a/1', /does not have/],
      ['redis+cluster://a?secret=1', /unknown parameter/],
      ['redis+sentinel://:secret@a', /name of the master/],
      ['redis+sentinel://:secret@a/m/x', /database/],
      ['redis://:secret@a/mymaster', /database that is no number/],
      ['redis://:secret@a/1x', /database that is no number/],
      ['redis://:secret@a?db=-1', /database that is no number/],
      ['redis+sentinel://a/m?sentinelPass=secret', /unknown parameter, sentinelPass$/],
      ['redis://:secret%zz@a', /a % that begins no character/],
      ['rediss://secret%@a', /a % that begins no character/],
      ['redis+cluster://:secret%ff@a', /a % that begins no character/],
      ['redis+sentinel://:secret%@s1/m', /a % that begins no character/],
      ['redis+sentinel://s1/secret%', /a % that begins no character/],
      ['redis+sentinel://s1/m?sentinelPassword=secret%', /a % that begins no character/],
    ];
    for (const [url, reason] of wrong) {
      expect(() => parseRedisUrl(url), url).to.throw(reason);
      if (!url.includes('?secret')) expect(() => parseRedisUrl(url)).to.not.throw(/secret/);
    }
  });
});

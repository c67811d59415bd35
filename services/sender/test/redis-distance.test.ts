import { RedisDistance } from '@gateway/sender/dispatching/redis-distance';
import { expect } from 'chai';

describe('how far Redis is', () => {
  let distance: RedisDistance;
  beforeEach(() => {
    distance = new RedisDistance();
  });
  const note = (count: number, ms: number) => {
    for (let i = 0; i < count; i++) distance.note(ms);
  };

  it('is the shortest time of a claim, as longer ones waited for something else', () => {
    expect(distance.ms).to.equal(0);
    for (const ms of [14, 5.5, 60]) distance.note(ms);
    expect(distance.ms).to.equal(5.5);
  });

  it('grows within 64 claims when Redis has moved away, and not with a single slow one', () => {
    note(1, 0.4);
    note(32, 50);
    expect(distance.ms).to.equal(0.4);
    note(32, 50);
    expect(distance.ms).to.equal(50);
  });
});

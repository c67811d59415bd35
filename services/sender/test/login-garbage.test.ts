import { LoginGarbage } from '@gateway/sender/fleet/login-garbage';
import { expect } from 'chai';

describe('the garbage of logins', () => {
  let collected: number;
  let garbage: LoginGarbage;
  beforeEach(() => {
    collected = 0;
    garbage = new LoginGarbage(() => collected++);
  });
  const tick = (...open: number[]) => {
    for (const now of open) garbage.tick({ open: now, isBusy: false });
  };

  it('is collected once after the start, when two looks saw nothing to do', () => {
    tick(0);
    expect(collected).to.equal(0);
    tick(0, 0, 0);
    expect(collected).to.equal(1);
  });

  it('is collected once after many logins, when no more come and nothing is under way', () => {
    tick(0, 0, 10, 60, 300);
    garbage.tick({ open: 300, isBusy: true });
    tick(300);
    expect(collected, 'that of the start only').to.equal(1);
    tick(300, 300, 300);
    expect(collected).to.equal(2);
  });

  it('is left to V8 after a few', () => {
    tick(0, 0, 5, 10, 10, 49, 49, 5, 5);
    expect(collected).to.equal(1);
  });

  it('counts logins, not devices: some were closed meanwhile', () => {
    tick(0, 0, 30, 0, 30, 30, 30);
    expect(collected).to.equal(2);
  });
});

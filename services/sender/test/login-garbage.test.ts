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
  const quiet = (open: number, seconds = 6) => tick(...Array<number>(seconds).fill(open));

  it('is collected once after the start, when nothing was to do for some seconds', () => {
    quiet(0, 5);
    expect(collected).to.equal(0);
    quiet(0, 20);
    expect(collected).to.equal(1);
  });

  it('is collected once after many logins, when no more come and nothing is under way', () => {
    quiet(0);
    tick(10, 60, 300);
    quiet(300, 5);
    garbage.tick({ open: 300, isBusy: true });
    quiet(300, 5);
    expect(collected, 'that of the start only').to.equal(1);
    quiet(300);
    expect(collected).to.equal(2);
  });

  it('is left to V8 after a few', () => {
    quiet(0);
    tick(5, 10, 10, 49, 49, 5);
    quiet(5, 20);
    expect(collected).to.equal(1);
  });

  it('counts logins, not devices: some were closed meanwhile', () => {
    quiet(0);
    tick(30, 0, 30);
    quiet(30, 20);
    expect(collected).to.equal(2);
  });
});

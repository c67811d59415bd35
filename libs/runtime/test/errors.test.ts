import { ApiError, FencedError, GatewayError, toError } from '@gateway/runtime/errors';
import { expect } from 'chai';

describe('errors', () => {
  it('show the public nothing unless they are told to', () => {
    const error = new GatewayError({ code: 'x', message: 'redis://secret is away' });
    expect(error.publicMessage).to.equal('Internal server error');
    expect(error).to.be.instanceOf(Error).with.property('name', 'GatewayError');
  });

  it('of the API carry status, message, details and headers', () => {
    const error = new ApiError('rate_limited', { headers: { 'Retry-After': '7' }, resetInSeconds: 7 });
    expect(error).to.include({
      status: 429,
      publicMessage: 'Rate limit exceeded',
      code: 'rate_limited',
      resetInSeconds: 7,
    });
    expect(error.headers).to.deep.equal({ 'Retry-After': '7' });
    expect(error.details).to.equal(undefined);
  });

  it('of a lost ownership have a class and a code of their own', () => {
    expect(new FencedError({ device: 'a' })).to.include({ code: 'fenced', name: 'FencedError' });
  });

  it('are made from any thrown value', () => {
    const original = new TypeError('a');
    expect(toError(original)).to.equal(original);
    expect(toError('plain text').message).to.equal('plain text');
    expect(toError({ odd: 1 }))
      .to.have.property('cause')
      .that.deep.equals({ odd: 1 });
    expect(toError(undefined)).to.be.instanceOf(Error);
  });
});

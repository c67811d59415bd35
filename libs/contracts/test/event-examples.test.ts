import { exampleOf } from '@gateway/contracts/events/event-examples';
import { DEFAULT_TYPES, EVENT_DATA, EVENT_TYPES, eventSchema } from '@gateway/contracts/events/events';
import { makeTestEvent } from '@gateway/contracts/webhooks/test-event';
import { expect } from 'chai';

describe('examples of events', () => {
  for (const type of Object.keys(EVENT_DATA)) {
    it(`of ${type} are as such an event is`, () => {
      const { error, value } = eventSchema(type).validate(exampleOf(type));
      expect(error).to.equal(undefined);
      expect(value.type).to.equal(type);
    });
  }

  it('are there of each type that is told, and of no other', () => {
    expect(Object.keys(EVENT_DATA)).to.have.members(EVENT_TYPES);
    expect(() => exampleOf('webhook.tested')).to.throw('there is no type');
  });

  it('are of types that are told unless others are asked for, but for those of one recipient of a list', () => {
    const others = EVENT_TYPES.filter((type) => !DEFAULT_TYPES.includes(type));
    expect(others).to.have.length(6);
    for (const type of others) expect(type).to.match(/^message\.(?!updated|received)/);
  });

  it('describe the test of an endpoint as it is posted', () => {
    const { body } = makeTestEvent('wh_0123456789abcdef', 1_795_390_921_000);
    expect(eventSchema('webhook.test').validate(JSON.parse(body.toString())).error).to.equal(undefined);
  });
});

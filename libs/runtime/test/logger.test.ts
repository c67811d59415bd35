import { Writable } from 'node:stream';
import { GatewayError } from '@gateway/runtime/errors';
import { runInContext } from '@gateway/runtime/logs/context';
import { createLogger, type LoggerOptions } from '@gateway/runtime/logs/logger';
import { expect } from 'chai';

function capture(options: Partial<LoggerOptions> = {}) {
  let output = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      output += String(chunk);
      done();
    },
  });
  const logger = createLogger({ service: 'test', destination, ...options });
  const lines = () => output.split('\n').filter(Boolean);
  return { logger, text: () => output, lines, line: () => JSON.parse(lines().at(-1) ?? '{}') };
}

describe('createLogger', () => {
  it('writes one JSON line per event, with time, level, service and fields', () => {
    const { logger, lines, line } = capture();
    logger.info('send accepted', { recipients: 3 });
    expect(lines()).to.have.length(1);
    expect(line()).to.include({ level: 'info', message: 'send accepted', service: 'test', recipients: 3 });
    expect(Date.parse(line().time)).to.be.closeTo(Date.now(), 5_000);
  });

  it('leaves out what is below its level', () => {
    const { logger, lines } = capture({ level: 'warn' });
    logger.info('quiet');
    logger.warn('loud');
    expect(lines()).to.have.length(1);
  });

  it('adds the context of the work and the fields of a child', () => {
    const { logger, line } = capture();
    runInContext({ requestId: 'req_1', device: 'shop' }, () => logger.child({ part: 'x' }).info('hello'));
    expect(line()).to.include({ requestId: 'req_1', device: 'shop', part: 'x' });
  });

  it('does not let a field take the place of level, time or message', () => {
    const { logger, line } = capture();
    logger.info('mine', { message: 'other', level: 'error', time: 'never' });
    expect(line()).to.include({ message: 'mine', level: 'info' });
  });

  it('writes errors as data, with their cause and internal fields', () => {
    const { logger, line } = capture();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    logger.error('failed', {
      error: new GatewayError({ code: 'redis_away', message: 'gone', fields: { tries: 2 }, cause }),
    });
    const { error } = line();
    expect(error).to.include({ name: 'GatewayError', message: 'gone', code: 'redis_away' });
    expect(error.fields).to.deep.equal({ tries: 2 });
    expect(error.stack).to.include('logger.test');
    expect(error.cause).to.include({ message: 'refused', code: 'ECONNREFUSED' });
  });

  it('never writes secrets, in any place', () => {
    const { logger, text } = capture();
    const secret = 'swordfish';
    logger.info('all of them', {
      token: secret,
      Authorization: secret,
      pairing_code: secret,
      qrCode: secret,
      text: secret,
      nested: { deeper: [{ code: secret }] },
      key: Buffer.from(secret),
    });
    expect(text()).not.to.include(secret);
    expect(text()).not.to.include(Buffer.from(secret).toString('base64'));
  });

  it('takes API tokens out of texts, URLs and error messages', () => {
    const { logger, text } = capture();
    const token = 'gw_0123456789abcdef_abcdefghjkmnpqrstvwxyz';
    logger.warn(`bad ${token}`, { url: `/send?token=${token}&a=1`, other: '/x?token=plain', error: new Error(token) });
    expect(text()).not.to.include(token);
    expect(text()).not.to.include('plain');
    expect(text()).to.include('&a=1');
  });

  it('masks phone numbers', () => {
    const { logger, line } = capture();
    logger.info('numbers', { phone: '447700900123', to: ['447700900123'], jid: '447700900123:4@s.whatsapp.net' });
    expect(line()).to.deep.include({ phone: '447***23', to: ['447***23'], jid: '447***23' });
  });

  it('survives values that JSON cannot hold', () => {
    const { logger, line } = capture();
    const circle: Record<string, unknown> = { big: 1n };
    circle.self = circle;
    logger.info('odd', { circle });
    expect(line().circle.big).to.equal('1');
  });

  it('writes coloured text for people', () => {
    const { logger, text } = capture({ pretty: true });
    logger.warn('slow', { device: 'shop one', error: new Error('why') });
    expect(text()).to.include('slow').and.to.include('"shop one"').and.to.include('Error: why');
    expect(text()).to.include('\u001b[33mwarn');
  });
});

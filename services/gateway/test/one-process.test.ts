import { ServiceProcess } from '@gateway/testkit/service-process';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '447700900600';
const PHONES = ['447700900601', '447700900602', '447700900603'];

describe('one process with all roles', function () {
  this.timeout(30_000);
  const fixture = useGateway({ inOneProcess: true });

  it('links an account, sends to a list, and logs out', async () => {
    const { gateway, send, shown } = fixture;
    await gateway.link(ACCOUNT);
    await gateway.waitForSend(await send(PHONES, 'from one process'), { read: PHONES.length });
    expect(shown(ACCOUNT, 'from one process')).to.have.members(PHONES);
    expect((await gateway.call('POST', '/disconnect')).status).to.equal(200);
    await gateway.waitForStatus('disconnected');
  });

  it('tells the health and the metrics of all roles at one place, each metric once', async () => {
    const { opsPort } = await fixture.gateway.api.waitForLog((line) => typeof line.opsPort === 'number');
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    expect(await answer.json()).to.deep.equal({ ready: true, checks: { start: 'ok', fleet: 'ok' } });
    const names = [...(await fixture.gateway.api.metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(names).to.include.members([
      'gateway_http_request_seconds',
      'gateway_connection_tasks',
      'gateway_devices',
      'gateway_client_version_refused',
    ]);
    expect(new Set(names).size).to.equal(names.length);
  });
});

describe('ROLES', function () {
  this.timeout(20_000);
  it('names roles that there are', async () => {
    const failure = await ServiceProcess.start('sender,reporter', {}, { readyMs: 15_000 }).catch(String);
    expect(failure).to.include('ROLES').and.to.include('connection, sender, api');
  });
});

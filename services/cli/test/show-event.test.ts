import type { GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { listAudit } from '@gateway/store/console/audit';
import { openEvents } from '@gateway/store/events/open-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { recordResults } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../api/test/support/test-api.js';
import { runCli } from './support/run-cli.js';

const PERSON = '447700900001';
const ALL = 'messages.updated,message.sent,message.received,optout.added';

describe('an event on the command line', () => {
  let space: RedisSpace;
  let api: TestApi;
  let owner: DeviceOwner;
  let token: string;
  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    owner = await linkDevice(space.store);
    token = (await api.newToken({ scopes: ['events'] })).value;
    await openEvents(space.store, 'main');
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  const show = (id: string, ...args: string[]) => runCli(space, ['events', 'show', id, ...args]);
  async function told(): Promise<GatewayEvent[]> {
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    const { body } = await api.call('GET', `/events?after=0&types=${ALL}`, { token });
    return body.events as GatewayEvent[];
  }
  async function sendOne(): Promise<void> {
    const { body } = await api.call('POST', '/send', { json: { to: PERSON, text: 'hello' } });
    await recordResults(space.store, owner.ownership, {
      ...{ tag: parseMessageId(String(body.messageId))!.tag, nowMs: Date.now() },
      events: [{ recipient: 0, part: 0, event: 'acked' }],
    });
  }
  const receive = (text: string) =>
    recordReceived(space.store, owner.ownership, {
      ...{ message: { platformId: '3A.01_x', jid: 'j', phone: PERSON, text }, nowMs: Date.now() },
    });

  it('is the one that the API shows: of a change, of what a person wrote, and of the workspace', async () => {
    await sendOne();
    await receive('hello back');
    await addOptOuts(space.store, 'main', { numbers: [PERSON], source: 'api', atMs: Date.now() });
    const events = (await told()).filter(({ type }) => type !== 'messages.updated');
    expect(events.map(({ type }) => type)).to.have.members(['message.sent', 'message.received', 'optout.added']);
    for (const { id } of events) {
      const { body } = await api.call('GET', `/events/${id}`, { token });
      for (const args of [[], ['--json']]) {
        const { code, stdout, stderr } = await show(id, ...args);
        expect([code, stderr]).to.deep.equal([0, '']);
        expect(stdout).to.equal(`${JSON.stringify(body.event)}\n`);
      }
    }
    expect(
      events.flatMap(({ data }) => data.phones ?? []),
      'whole numbers',
    ).to.deep.equal([PERSON]);
    expect(await listAudit(space.store)).to.deep.equal([]);
  });

  it('is a change alone where several are told together, which have no id as one', async () => {
    await sendOne();
    const updated = (await told()).find(({ type }) => type === 'messages.updated')!;
    const [change] = updated.data.changes as { id: string }[];
    const shown = await show(change!.id);
    expect(JSON.parse(shown.stdout), shown.stderr).to.include({ id: change!.id, type: 'message.sent' });
    const together = await show(updated.id);
    expect([together.code, together.stdout]).to.deep.equal([1, '']);
    expect(together.stderr).to.include('several changes together are shown by their own ids');
  });

  it('does not make a terminal obey what a person wrote; programs get it as it is', async () => {
    const text = 'a\u009b2J\u202eb\u001b';
    await receive(text);
    const { id } = (await told()).find(({ type }) => type === 'message.received')!;
    const [people, programs] = await Promise.all([show(id), show(id, '--json')]);
    const textOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).data.content.text;
    expect(people.stdout).not.to.match(/[\u009b\u202e]/);
    expect([textOf(people), textOf(programs)]).to.deep.equal(['a\ufffd2J\ufffdb\u001b', text]);
  });

  it('is not there in another workspace, nor when it did not happen, nor when it is not kept any more', async () => {
    await sendOne();
    const { id } = (await told()).find(({ type }) => type === 'message.sent')!;
    await createWorkspace(space.store, 'other');
    const missing = [
      await runCli(space, ['events', 'show', id], { workspace: 'other' }),
      await show(id.replace('_sent', '_read')),
      await show('evt_1', '--json'),
    ];
    for (const { code, stdout, stderr } of missing) {
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.match(/^error: there is no event evt_\w+ in this workspace;/);
    }
    const { eventLog, eventMarks } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.del(eventLog);
    await space.store.redis.hset(eventMarks, 'goneTo', '9999999999999-0');
    const gone = await show(id);
    expect([gone.code, gone.stdout]).to.deep.equal([1, '']);
    expect(gone.stderr)
      .to.match(/^error: event evt_\S+ is not kept any more/)
      .and.include('is 9999999999999-0');
    expect((await runCli(space, ['events', 'show'])).stderr).to.include("missing required argument 'id'");
  });
});

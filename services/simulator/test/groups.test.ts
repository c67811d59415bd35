import { eventually } from '@gateway/testkit/eventually';
import { makePng } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

describe('groups', () => {
  const network = useSimulator({ profile: '2026' });
  let alice: Linked;
  let bob: Linked;
  let carol: Linked;

  const seesGroup = ({ socket }: Linked, subject: string) =>
    new Promise<void>((resolve) =>
      socket.ev.on('groups.upsert', (all) => all.some((each) => each.subject === subject) && resolve()),
    );

  const nextText = ({ socket }: Linked, group: string, text: string) =>
    new Promise<void>((resolve) => {
      socket.ev.on('messages.upsert', ({ messages }) => {
        const found = messages.some(
          ({ key, message }) =>
            key.remoteJid === group && (message?.conversation ?? message?.extendedTextMessage?.text) === text,
        );
        if (found) resolve();
      });
    });

  async function createGroup(
    subject: string,
    members: Linked[],
    jids = members.map(({ jid }) => jid),
  ): Promise<string> {
    const seen = members.map((member) => seesGroup(member, subject));
    const { id } = await alice.socket.groupCreate(subject, jids);
    await Promise.all(seen);
    return id;
  }

  before(async () => {
    [alice, bob, carol] = await Promise.all([network.link(), network.link(), network.link()]);
  });

  it('carries messages to every member, also to those added later', async () => {
    const group = await createGroup('three of us', [bob]);
    const first = nextText(bob, group, 'hello');
    await alice.socket.sendMessage(group, { text: 'hello' });
    await first;
    const carolSees = seesGroup(carol, 'three of us');
    const [added] = await alice.socket.groupParticipantsUpdate(group, [carol.jid], 'add');
    expect(added?.status).to.equal('200');
    await carolSees;
    const both = [nextText(bob, group, 'welcome'), nextText(carol, group, 'welcome')];
    await alice.socket.sendMessage(group, { text: 'welcome' });
    await Promise.all(both);
    const others = [nextText(alice, group, 'thanks'), nextText(bob, group, 'thanks')];
    await carol.socket.sendMessage(group, { text: 'thanks' });
    await Promise.all(others);
  });

  it('shows messages on the phones of members who have no client', async () => {
    const group = await createGroup('with a phone', [], ['4913000000001@s.whatsapp.net']);
    for (const text of ['one', 'two']) await alice.socket.sendMessage(group, { text });
    const phone = network.simulator.network.phones.phone('4913000000001');
    await eventually(() => {
      const rows = [...phone.inbox.rows()].map(({ text, shown, group: where }) => ({ text, shown, where }));
      return expect(rows).to.deep.equal([
        { text: 'one', shown: 1, where: group },
        { text: 'two', shown: 1, where: group },
      ]);
    });
  });

  it('sends nothing to members who were removed, and takes nothing from them', async () => {
    const group = await createGroup('two of us', [bob, carol]);
    await alice.socket.groupParticipantsUpdate(group, [carol.jid], 'remove');
    const before = network.simulator.network.accounts.findDevice(carol.number, 1)?.mailbox;
    const heard = nextText(bob, group, 'without carol');
    await alice.socket.sendMessage(group, { text: 'without carol' });
    await heard;
    expect(before?.size).to.equal(0);
    const refused = await carol.socket.groupMetadata(group).catch((error: Error) => error);
    expect(refused).to.have.property('message', 'forbidden');
  });

  it('keeps subject, description, roles, switches and invitations', async () => {
    const group = await createGroup('settings', [bob]);
    await alice.socket.groupUpdateSubject(group, 'new name');
    await alice.socket.groupUpdateDescription(group, 'what this is about');
    await alice.socket.groupParticipantsUpdate(group, [bob.jid], 'promote');
    await alice.socket.groupSettingUpdate(group, 'announcement');
    const metadata = await bob.socket.groupMetadata(group);
    expect(metadata).to.deep.include({ subject: 'new name', desc: 'what this is about', announce: true });
    expect(metadata.participants.map(({ admin }) => admin)).to.have.members(['superadmin', 'admin']);
    const code = await alice.socket.groupInviteCode(group);
    expect(await carol.socket.groupAcceptInvite(code!)).to.equal(group);
    expect((await carol.socket.groupMetadata(group)).participants).to.have.length(3);
    await carol.socket.groupLeave(group);
    expect((await bob.socket.groupMetadata(group)).participants).to.have.length(2);
    expect(Object.keys(await bob.socket.groupFetchAllParticipating())).to.include(group);
  });

  it('tells every member of a change, also who made it and who it is about', async () => {
    const group = await createGroup('news for all', [bob, carol]);
    for (const action of ['promote', 'demote', 'remove'] as const) {
      const told = [alice, bob, carol].map(
        ({ socket }) =>
          new Promise<string[]>((resolve) =>
            socket.ev.on('group-participants.update', (update) => {
              if (update.id === group && update.action === action) resolve(update.participants.map(({ id }) => id));
            }),
          ),
      );
      await alice.socket.groupParticipantsUpdate(group, [carol.jid], action);
      const carolsLid = carol.state.creds.me!.lid!.replace(/:\d+@/, '@');
      expect(await Promise.all(told)).to.deep.equal([[carolsLid], [carolsLid], [carolsLid]]);
    }
  });

  it('lets people wait where admins decide who comes in', async () => {
    const group = await createGroup('by invitation', []);
    await alice.socket.groupJoinApprovalMode(group, 'on');
    const code = (await alice.socket.groupInviteCode(group))!;
    await Promise.all([bob.socket.groupAcceptInvite(code), carol.socket.groupAcceptInvite(code)]);
    const waiting = await alice.socket.groupRequestParticipantsList(group);
    expect(waiting.map(({ phone_number }) => phone_number)).to.have.members([bob.jid, carol.jid]);
    const joined = seesGroup(bob, 'by invitation');
    const approved = await alice.socket.groupRequestParticipantsUpdate(group, [bob.jid], 'approve');
    await alice.socket.groupRequestParticipantsUpdate(group, [carol.jid], 'reject');
    expect(approved.map(({ status }) => status)).to.deep.equal(['200']);
    await joined;
    expect((await alice.socket.groupMetadata(group)).participants).to.have.length(2);
    expect(await alice.socket.groupRequestParticipantsList(group)).to.deep.equal([]);
  });

  it('does not put numbers into a group that are not on the messenger', async () => {
    await network.admin('PUT', '/admin/phones/4913000000404', { exists: false });
    const jid = '4913000000404@s.whatsapp.net';
    const { id, participants } = await alice.socket.groupCreate('empty', [jid]);
    expect(participants).to.have.length(1);
    expect((await alice.socket.groupParticipantsUpdate(id, [jid], 'add'))[0]?.status).to.equal('404');
  });

  it('lets only admins change who is in a group', async () => {
    const group = await createGroup('admins only', [bob]);
    const refused = await bob.socket.groupParticipantsUpdate(group, [carol.jid], 'add').catch((error: Error) => error);
    expect(refused).to.have.property('message', 'forbidden');
  });

  it('shows the picture that a member set, and tells the others', async () => {
    const group = await createGroup('with a picture', [bob]);
    const told = new Promise<void>((resolve) =>
      bob.socket.ev.on(
        'contacts.update',
        (all) => all.some(({ id, imgUrl }) => id === group && imgUrl === 'changed') && resolve(),
      ),
    );
    await alice.socket.updateProfilePicture(group, makePng(8, 8));
    await told;
    const url = await bob.socket.profilePictureUrl(group, 'image');
    const response = await fetch(url!);
    expect(response.headers.get('content-type')).to.equal('image/jpeg');
    const refused = await carol.socket.updateProfilePicture(group, makePng(8, 8)).catch((error: Error) => error);
    expect(refused).to.have.property('message', 'forbidden');
    await alice.socket.removeProfilePicture(group);
    const gone = await bob.socket.profilePictureUrl(group, 'image').catch((error: Error) => error);
    expect(gone).to.have.property('message', 'item-not-found');
  });
});

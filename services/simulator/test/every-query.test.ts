import { makePng } from '@gateway/testkit/sample-files';
import { proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked, StockSocket } from './support/stock-client.js';

/** A stock client gives up after 60 s; nothing here may take more than a moment of that. */
const PROMPT_MS = 5_000;

const PERSON = '4917300000001';
const PERSON_JID = `${PERSON}@s.whatsapp.net`;
const CHANNEL = '120363000000000001@newsletter';

interface Scene {
  readonly me: string;
  readonly group: string;
  readonly message: { key: proto.IMessageKey };
}

type Call = (socket: StockSocket, scene: Scene) => unknown;

const yes = 'a result';
const no = 'an error';

/** Every public method that asks the network something: what it must get, and how it is called. */
const QUERIES: Partial<Record<keyof StockSocket, [typeof yes | typeof no, Call]>> = {
  query: [yes, (s) => s.query({ tag: 'iq', attrs: { to: 's.whatsapp.net', type: 'get', xmlns: 'w:p' } })],
  uploadPreKeys: [yes, (s) => s.uploadPreKeys()],
  uploadPreKeysToServerIfRequired: [yes, (s) => s.uploadPreKeysToServerIfRequired()],
  digestKeyBundle: [yes, (s) => s.digestKeyBundle()],
  rotateSignedPreKey: [yes, (s) => s.rotateSignedPreKey()],
  sendUnifiedSession: [yes, (s) => s.sendUnifiedSession()],
  sendWAMBuffer: [yes, (s) => s.sendWAMBuffer(Buffer.from('telemetry'))],
  onWhatsApp: [yes, (s) => s.onWhatsApp(PERSON)],
  fetchAccountReachoutTimelock: [yes, (s) => s.fetchAccountReachoutTimelock()],
  fetchNewChatMessageCap: [yes, (s) => s.fetchNewChatMessageCap()],
  createCallLink: [yes, (s) => s.createCallLink('video')],
  getBotListV2: [yes, (s) => s.getBotListV2()],
  fetchPrivacySettings: [yes, (s) => s.fetchPrivacySettings(true)],
  sendPresenceUpdate: [yes, (s) => s.sendPresenceUpdate('composing', PERSON_JID)],
  presenceSubscribe: [yes, (s) => s.presenceSubscribe(PERSON_JID)],
  profilePictureUrl: [yes, (s) => s.profilePictureUrl(PERSON_JID, 'image')],
  fetchBlocklist: [yes, (s) => s.fetchBlocklist()],
  fetchStatus: [yes, (s) => s.fetchStatus(PERSON_JID)],
  fetchDisappearingDuration: [yes, (s) => s.fetchDisappearingDuration(PERSON_JID)],
  updateProfilePicture: [yes, (s, { me }) => s.updateProfilePicture(me, makePng(8, 8))],
  removeProfilePicture: [yes, (s, { me }) => s.removeProfilePicture(me)],
  updateProfileStatus: [yes, (s) => s.updateProfileStatus('busy')],
  updateProfileName: [yes, (s) => s.updateProfileName('A name')],
  updateBlockStatus: [yes, (s) => s.updateBlockStatus(PERSON_JID, 'block')],
  updateDisableLinkPreviewsPrivacy: [yes, (s) => s.updateDisableLinkPreviewsPrivacy(true)],
  updateCallPrivacy: [yes, (s) => s.updateCallPrivacy('known')],
  updateMessagesPrivacy: [yes, (s) => s.updateMessagesPrivacy('contacts')],
  updateLastSeenPrivacy: [yes, (s) => s.updateLastSeenPrivacy('none')],
  updateOnlinePrivacy: [yes, (s) => s.updateOnlinePrivacy('match_last_seen')],
  updateProfilePicturePrivacy: [yes, (s) => s.updateProfilePicturePrivacy('contacts')],
  updateStatusPrivacy: [yes, (s) => s.updateStatusPrivacy('contacts')],
  updateReadReceiptsPrivacy: [yes, (s) => s.updateReadReceiptsPrivacy('none')],
  updateGroupsAddPrivacy: [yes, (s) => s.updateGroupsAddPrivacy('contacts')],
  updateDefaultDisappearingMode: [yes, (s) => s.updateDefaultDisappearingMode(86_400)],
  getBusinessProfile: [yes, (s) => s.getBusinessProfile(PERSON_JID)],
  resyncAppState: [yes, (s) => s.resyncAppState(['regular', 'regular_low', 'regular_high', 'critical_block'], false)],
  appPatch: [yes, (s) => s.chatModify({ pin: true }, PERSON_JID)],
  chatModify: [yes, (s) => s.chatModify({ mute: 3_600_000 }, PERSON_JID)],
  cleanDirtyBits: [yes, (s) => s.cleanDirtyBits('groups')],
  addOrEditContact: [yes, (s) => s.addOrEditContact(PERSON_JID, { fullName: 'Some Body' })],
  removeContact: [yes, (s) => s.removeContact(PERSON_JID)],
  addLabel: [yes, (s) => s.addLabel(PERSON_JID, { id: '1', name: 'new', color: 1 })],
  addChatLabel: [yes, (s) => s.addChatLabel(PERSON_JID, '1')],
  removeChatLabel: [yes, (s) => s.removeChatLabel(PERSON_JID, '1')],
  addMessageLabel: [yes, (s, { message }) => s.addMessageLabel(PERSON_JID, message.key.id!, '1')],
  removeMessageLabel: [yes, (s, { message }) => s.removeMessageLabel(PERSON_JID, message.key.id!, '1')],
  star: [yes, (s, { message }) => s.star(PERSON_JID, [{ id: message.key.id!, fromMe: true }], true)],
  addOrEditQuickReply: [yes, (s) => s.addOrEditQuickReply({ shortcut: 'hi', message: 'hello', timestamp: '1' })],
  removeQuickReply: [yes, (s) => s.removeQuickReply('1')],
  groupMetadata: [yes, (s, { group }) => s.groupMetadata(group)],
  groupCreate: [yes, (s) => s.groupCreate('another', [PERSON_JID])],
  groupUpdateSubject: [yes, (s, { group }) => s.groupUpdateSubject(group, 'renamed')],
  groupRequestParticipantsList: [yes, (s, { group }) => s.groupRequestParticipantsList(group)],
  groupRequestParticipantsUpdate: [
    yes,
    (s, { group }) => s.groupRequestParticipantsUpdate(group, [PERSON_JID], 'approve'),
  ],
  groupParticipantsUpdate: [yes, (s, { group }) => s.groupParticipantsUpdate(group, [PERSON_JID], 'promote')],
  groupUpdateDescription: [yes, (s, { group }) => s.groupUpdateDescription(group, 'about')],
  groupInviteCode: [yes, (s, { group }) => s.groupInviteCode(group)],
  groupRevokeInvite: [yes, (s, { group }) => s.groupRevokeInvite(group)],
  groupGetInviteInfo: [yes, async (s, { group }) => s.groupGetInviteInfo((await s.groupInviteCode(group))!)],
  groupAcceptInvite: [yes, async (s, { group }) => s.groupAcceptInvite((await s.groupInviteCode(group))!)],
  groupRevokeInviteV4: [no, (s, { group }) => s.groupRevokeInviteV4(group, PERSON_JID)],
  groupAcceptInviteV4: [no, (s, { group }) => s.groupAcceptInviteV4(PERSON_JID, inviteTo(group))],
  groupToggleEphemeral: [yes, (s, { group }) => s.groupToggleEphemeral(group, 86_400)],
  groupSettingUpdate: [yes, (s, { group }) => s.groupSettingUpdate(group, 'announcement')],
  groupMemberAddMode: [yes, (s, { group }) => s.groupMemberAddMode(group, 'all_member_add')],
  groupJoinApprovalMode: [yes, (s, { group }) => s.groupJoinApprovalMode(group, 'on')],
  groupFetchAllParticipating: [yes, (s) => s.groupFetchAllParticipating()],
  updateMemberLabel: [yes, (s, { group }) => s.updateMemberLabel(group, 'treasurer')],
  newsletterCreate: [no, (s) => s.newsletterCreate('news')],
  newsletterUpdate: [no, (s) => s.newsletterUpdate(CHANNEL, { name: 'news' })],
  newsletterSubscribers: [no, (s) => s.newsletterSubscribers(CHANNEL)],
  newsletterMetadata: [no, (s) => s.newsletterMetadata('jid', CHANNEL)],
  newsletterFollow: [no, (s) => s.newsletterFollow(CHANNEL)],
  newsletterUnfollow: [no, (s) => s.newsletterUnfollow(CHANNEL)],
  newsletterMute: [no, (s) => s.newsletterMute(CHANNEL)],
  newsletterUnmute: [no, (s) => s.newsletterUnmute(CHANNEL)],
  newsletterUpdateName: [no, (s) => s.newsletterUpdateName(CHANNEL, 'news')],
  newsletterUpdateDescription: [no, (s) => s.newsletterUpdateDescription(CHANNEL, 'news')],
  newsletterUpdatePicture: [no, (s) => s.newsletterUpdatePicture(CHANNEL, makePng(8, 8))],
  newsletterRemovePicture: [no, (s) => s.newsletterRemovePicture(CHANNEL)],
  // The library does not look at the answer, which is a refusal.
  newsletterReactMessage: [yes, (s) => s.newsletterReactMessage(CHANNEL, '1', '👍')],
  newsletterFetchMessages: [no, (s) => s.newsletterFetchMessages(CHANNEL, 5, 0, 0)],
  subscribeNewsletterUpdates: [no, (s) => s.subscribeNewsletterUpdates(CHANNEL)],
  newsletterAdminCount: [no, (s) => s.newsletterAdminCount(CHANNEL)],
  newsletterChangeOwner: [no, (s) => s.newsletterChangeOwner(CHANNEL, PERSON_JID)],
  newsletterDemote: [no, (s) => s.newsletterDemote(CHANNEL, PERSON_JID)],
  newsletterDelete: [no, (s) => s.newsletterDelete(CHANNEL)],
  issuePrivacyTokens: [yes, (s) => s.issuePrivacyTokens([PERSON_JID])],
  assertSessions: [yes, (s) => s.assertSessions([PERSON_JID], true)],
  getUSyncDevices: [yes, (s) => s.getUSyncDevices([PERSON_JID], false, false)],
  refreshMediaConn: [yes, (s) => s.refreshMediaConn(true)],
  sendMessage: [yes, (s) => s.sendMessage(PERSON_JID, { text: 'hello' })],
  relayMessage: [yes, (s) => s.relayMessage(PERSON_JID, { conversation: 'hello' }, {})],
  readMessages: [yes, (s) => s.readMessages([{ remoteJid: PERSON_JID, id: 'ANY', fromMe: false }])],
  sendReceipt: [yes, (s) => s.sendReceipt(PERSON_JID, undefined, ['ANY'], 'read')],
  sendReceipts: [yes, (s) => s.sendReceipts([{ remoteJid: PERSON_JID, id: 'ANY', fromMe: false }], 'read')],
  updateMediaMessage: [no, (s) => s.updateMediaMessage(lostPicture())],
  fetchMessageHistory: [yes, (s, { message }) => s.fetchMessageHistory(10, message.key, 1)],
  requestPlaceholderResend: [yes, (s, { message }) => s.requestPlaceholderResend(message.key)],
  sendPeerDataOperationMessage: [
    yes,
    (s) =>
      s.sendPeerDataOperationMessage({
        peerDataOperationRequestType: PLACEHOLDER,
        placeholderMessageResendRequest: [],
      }),
  ],
  rejectCall: [yes, (s) => s.rejectCall('CALL', PERSON_JID)],
  getOrderDetails: [no, (s) => s.getOrderDetails('1', 'AAAA')],
  getCatalog: [no, (s) => s.getCatalog({ jid: PERSON_JID })],
  getCollections: [no, (s) => s.getCollections(PERSON_JID)],
  productCreate: [no, (s) => s.productCreate(PRODUCT)],
  productUpdate: [no, (s) => s.productUpdate('1', PRODUCT)],
  productDelete: [no, (s) => s.productDelete(['1'])],
  updateBussinesProfile: [yes, (s) => s.updateBussinesProfile({ description: 'a shop' })],
  updateCoverPhoto: [no, (s) => s.updateCoverPhoto(makePng(8, 8))],
  removeCoverPhoto: [yes, (s) => s.removeCoverPhoto('1')],
  communityMetadata: [no, (s) => s.communityMetadata('120363999999999999@g.us')],
  communityCreate: [no, (s) => s.communityCreate('village', 'about')],
  communityCreateGroup: [no, (s) => s.communityCreateGroup('part', [PERSON_JID], '120363999999999999@g.us')],
  communityLeave: [no, (s) => s.communityLeave('120363999999999999@g.us')],
  communityLinkGroup: [no, (s, { group }) => s.communityLinkGroup(group, '120363999999999999@g.us')],
  communityUnlinkGroup: [no, (s, { group }) => s.communityUnlinkGroup(group, '120363999999999999@g.us')],
  communityFetchLinkedGroups: [no, (s) => s.communityFetchLinkedGroups('120363999999999999@g.us')],
  communityFetchAllParticipating: [yes, (s) => s.communityFetchAllParticipating()],
  groupLeave: [yes, (s, { group }) => s.groupLeave(group)],
};

/** What asks no server, or what other files are about. */
const LOCAL = new Set<string>([
  ...['generateMessageTag', 'waitForMessage', 'waitForSocketOpen', 'sendRawMessage', 'sendNode', 'logout', 'end'],
  ...['registerSocketEndHandler', 'onUnexpectedError', 'requestPairingCode', 'updateServerTimeOffset'],
  ...['waitForConnectionUpdate', 'executeUSyncQuery', 'upsertMessage', 'getMediaHost', 'waUploadToServer'],
  ...['createParticipantNodes', 'sendMessageAck', 'sendRetryRequest'],
]);

/** These go out as the group methods of the same name do. */
const isGroupTwin = (name: string) =>
  name.startsWith('community') && `group${name.slice('community'.length)}` in QUERIES;

const PLACEHOLDER = proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND;
const PRODUCT = {
  name: 'bread',
  description: 'fresh',
  price: 3,
  currency: 'EUR',
  isHidden: false,
  originCountryCode: undefined,
  images: [],
};

function inviteTo(groupJid: string) {
  return { groupJid, inviteCode: 'never given out', inviteExpiration: 1, groupName: '' };
}

/** A picture whose file the phone is asked to upload again. */
function lostPicture() {
  const imageMessage = { url: 'https://lost/', directPath: '/lost', mediaKey: Buffer.alloc(32, 1) };
  return { key: { remoteJid: PERSON_JID, id: 'LOST', fromMe: false }, message: { imageMessage } };
}

describe('every question a stock socket can ask', () => {
  const network = useSimulator();
  let client: Linked;
  let scene: Scene;

  before(async () => {
    client = await network.link();
    const { id: group } = await client.socket.groupCreate('sweep', [PERSON_JID]);
    const message = (await client.socket.sendMessage(PERSON_JID, { text: 'first' }))!;
    scene = { me: client.jid, group, message };
  });

  it('is in this list', () => {
    const methods = Object.entries(client.socket).filter(([, value]) => typeof value === 'function');
    const missing = methods.filter(([name]) => !(name in QUERIES) && !LOCAL.has(name) && !isGroupTwin(name));
    expect(missing.map(([name]) => name)).to.deep.equal([]);
  });

  for (const [name, [expected, call]] of Object.entries(QUERIES)) {
    it(`${name} gets ${expected}, promptly`, async () => {
      const silence = new Promise((resolve) => setTimeout(resolve, PROMPT_MS, 'silence').unref());
      const answer = Promise.resolve(call(client.socket, scene)).then(
        () => yes,
        (error: Error) => (/timed? ?out/i.test(error.message) ? 'silence' : no),
      );
      expect(await Promise.race([answer, silence])).to.equal(expected);
    }).timeout(2 * PROMPT_MS);
  }

  it('leaves the connection open', async () => {
    expect(await client.socket.onWhatsApp(PERSON)).to.have.length(1);
  });
});

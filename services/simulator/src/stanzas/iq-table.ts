import { mediaAuthOf } from '../media/media-auth.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, childNamed, node } from '../wire/nodes.js';
import {
  answerBlocklist,
  answerBusinessProfile,
  answerPicture,
  answerPrivacy,
  answerStatus,
} from './account-queries.js';
import { answerAppState } from './app-state.js';
import { answerEncrypt } from './encrypt-keys.js';
import { answerGroups } from './groups/group-queries.js';
import { answerDevicesQuery } from './manage-devices.js';
import { answerMex } from './mex.js';
import type { Client, Server } from './stanza-context.js';
import { answerPassive } from './start-delivery.js';
import { answerUsync } from './usync.js';

type IqHandler = (server: Server, client: Client, query: BinaryNode) => void;

const acknowledge: IqHandler = (_server, { session }, query) => session.reply(query);

/** Experiments that clients ask for: how tokens of trust are used. */
const PROPS = { '10518': 'true', '9666': 'true', '14303': 'false' };
/** Since 2026 also: the account has migrated to hidden identifiers; strangers are shown a token made from its salt. */
const MIGRATED = '9435';
const SALT_TOKENS = '24941';

/** One handler per namespace. What is not here is answered with 501, as a server that does not know it would. */
export const IQ_TABLE: Record<string, IqHandler> = {
  'w:p': acknowledge,
  passive: answerPassive,
  encrypt: answerEncrypt,
  usync: answerUsync,
  abt: answerProps,
  w: answerProps,
  privacy: answerPrivacy,
  blocklist: answerBlocklist,
  status: answerStatus,
  'w:profile:picture': answerPicture,
  'w:biz': answerBusinessProfile,
  'w:mex': answerMex,
  'w:sync:app:state': answerAppState,
  'w:g2': answerGroups,
  'w:m': answerMediaConnection,
  md: answerDevicesQuery,
  'w:stats': acknowledge,
  disappearing_mode: acknowledge,
  'urn:xmpp:whatsapp:dirty': acknowledge,
  'urn:xmpp:whatsapp:push': acknowledge,
  'urn:xmpp:ping': acknowledge,
  tos: acknowledge,
  bot: (_server, { session }, query) => session.reply(query, [node('bot', { v: '2' })]),
};

function propsOf({ rules, accounts }: Network, number: string): Record<string, string> {
  if (!rules.tellsMigration) return PROPS;
  const { addressing, props } = accounts.ensure(number);
  const own = Object.entries(props).map(([code, value]) => [code, String(value)]);
  return { ...PROPS, [MIGRATED]: String(addressing === 'lid'), [SALT_TOKENS]: 'true', ...Object.fromEntries(own) };
}

function answerProps({ network }: Server, { session, device }: Client, query: BinaryNode): void {
  const props = Object.entries(propsOf(network, device.number)).map(([config_code, config_value]) =>
    node('prop', { config_code, config_value }),
  );
  session.reply(query, [node('props', { protocol: '1', ab_key: 'sim', hash: 'sim1', refresh: '86400' }, props)]);
}

function answerMediaConnection({ network }: Server, { session, device }: Client, query: BinaryNode): void {
  if (!childNamed(query, 'media_conn')) return session.replyError(query, 400, 'bad-request');
  const host = node('host', { hostname: network.settings.mediaHost, maxContentLengthBytes: String(2 ** 31) });
  const attrs = { auth: mediaAuthOf(network.seed, device.number), ttl: '3600', auth_ttl: '21600', max_buckets: '12' };
  session.reply(query, [node('media_conn', attrs, [host])]);
}

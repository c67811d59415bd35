import {
  type BinaryNode,
  getAllBinaryNodeChildren,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  jidDecode,
} from '../socket/baileys.js';

/** One user in the answer to a usync query. Fields that were not asked or answered are absent. */
export interface UserAnswer {
  /** As the answer names the account: by number or by hidden identifier. */
  name: string | undefined;
  /** By number, which may differ from the one asked for: some countries write numbers in two ways. */
  jid: string | undefined;
  /** The numbers as they were asked for, digits: two spellings of one number can share an answer. */
  asked: string[];
  isContact: boolean | undefined;
  lid: string | undefined;
  devices: UserDevice[] | undefined;
  /** The network's error for this user, in any part of the answer. */
  error: number | undefined;
}

export interface UserDevice {
  id: number;
  isHosted: boolean;
}

/**
 * Reads the answer user by user. The library's own parser throws for the whole batch when a single user has an error.
 * A refusal of a whole part of the query (such as "devices, later") counts for every user.
 */
export function readUsers(answer: BinaryNode | undefined): UserAnswer[] {
  const usync = answer && getBinaryNodeChild(answer, 'usync');
  const refusal = usync && errorIn(getBinaryNodeChild(usync, 'result'));
  const users = getBinaryNodeChildren(usync && getBinaryNodeChild(usync, 'list'), 'user');
  return users.map((user) => {
    const read = readUser(user);
    read.error ??= refusal;
    return read;
  });
}

function readUser(user: BinaryNode): UserAnswer {
  const contacts = getBinaryNodeChildren(user, 'contact');
  const { jid: name, pn_jid: numberJid } = user.attrs;
  const isLid = jidDecode(name)?.server === 'lid';
  return {
    name,
    jid: isLid ? numberJid : (numberJid ?? name),
    asked: contacts.flatMap((contact) => textOf(contact)?.replace(/\D/g, '') || []),
    isContact: contacts[0] && contacts[0].attrs.type === 'in',
    lid: getBinaryNodeChild(user, 'lid')?.attrs.val ?? (isLid ? name : undefined),
    devices: readDevices(getBinaryNodeChild(user, 'devices')),
    error: errorIn(user),
  };
}

function readDevices(devices: BinaryNode | undefined): UserDevice[] | undefined {
  const list = devices && getBinaryNodeChild(devices, 'device-list');
  if (!list) return undefined;
  return (
    getBinaryNodeChildren(list, 'device')
      // The phone itself has no key index; a linked device without one has not finished linking, and breaks a message.
      .filter(({ attrs }) => Number(attrs.id) === 0 || Number(attrs['key-index']) > 0)
      .map(({ attrs }) => ({ id: Number(attrs.id), isHosted: attrs.is_hosted === 'true' }))
  );
}

/** The code of an `error` node right below, or one level further down. */
function errorIn(node: BinaryNode | undefined): number | undefined {
  if (!node) return undefined;
  const children = getAllBinaryNodeChildren(node);
  const error = [node, ...children].map((part) => getBinaryNodeChild(part, 'error')).find((found) => found);
  return error && (Number(error.attrs.code) || SERVER_ERROR);
}

const SERVER_ERROR = 500;

function textOf(node: BinaryNode | undefined): string | undefined {
  if (typeof node?.content === 'string') return node.content;
  return node?.content instanceof Uint8Array ? Buffer.from(node.content).toString() : undefined;
}

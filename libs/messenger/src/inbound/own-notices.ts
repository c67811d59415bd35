import { isOwnPhone } from '../lookup/is-own-phone.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  normalizeMessageContent,
  proto,
  unpadRandomMax16,
} from '../socket/baileys.js';

/** What the devices of an account tell each other: histories, migrations, keys. */
export interface OwnNotice {
  /** The notice as the library would find it, in any wrapping. Changes here change the message. */
  protocol: proto.Message.IProtocolMessage;
  /** Whether it came from the account's phone, to this device only. Any other device may be a stranger's. */
  isFromPhone: boolean;
}

/** Gets every notice of the account's devices before the library does, and says whether it changed it. */
type TakeNotice = (notice: OwnNotice) => Promise<boolean>;

type Me = { id: string; lid?: string } | undefined;

const PAD_OF_ONE = Buffer.from([1]);

/** The library obeys all devices of the account, in conversations and in groups; so all are checked. */
export function takeOwnNotices({ signalRepository }: BaileysSocket, me: () => Me, take: TakeNotice): void {
  const decrypt = signalRepository.decryptMessage.bind(signalRepository);
  signalRepository.decryptMessage = async (sealed) => {
    const plain = await decrypt(sealed);
    return isOwnDevice(me(), sealed.jid) ? await rewrite(plain, isOwnPhone(me(), sealed.jid), take) : plain;
  };
  const decryptGroup = signalRepository.decryptGroupMessage.bind(signalRepository);
  signalRepository.decryptGroupMessage = async (sealed) => {
    const plain = await decryptGroup(sealed);
    return isOwnDevice(me(), sealed.authorJid) ? await rewrite(plain, false, take) : plain;
  };
}

/** As the library compares them: by their digits alone. */
function isOwnDevice(me: Me, jid: string): boolean {
  return [me?.id, me?.lid].some((own) => own !== undefined && areJidsSameUser(own, jid));
}

async function rewrite(plain: Uint8Array, isFromPhone: boolean, take: TakeNotice): Promise<Uint8Array> {
  const message = readMessage(plain);
  const content = normalizeMessageContent(message?.deviceSentMessage?.message ?? message);
  const protocol = content?.protocolMessage;
  if (!message || !protocol || !(await take({ protocol, isFromPhone }))) return plain;
  return Buffer.concat([proto.Message.encode(message).finish(), PAD_OF_ONE]);
}

/** `undefined` for what the library cannot read either: it reports that to the network itself. */
function readMessage(plain: Uint8Array): proto.IMessage | undefined {
  try {
    return proto.Message.decode(unpadRandomMax16(plain));
  } catch {
    return undefined;
  }
}

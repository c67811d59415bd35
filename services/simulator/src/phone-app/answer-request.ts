import { proto } from '@whiskeysockets/baileys';
import type { Network } from '../network/network.js';
import { olderMessages, type Remembered, webMessage } from './phone-history.js';

const { PeerDataOperationRequestType: RequestType } = proto.Message;
const { Type: ProtocolType } = proto.Message.ProtocolMessage;

/** What a client of the account asks its own phone for. */
export type PeerRequest = proto.Message.IPeerDataOperationRequestMessage;

/** What the phone sends back; undefined for requests that phones here do not know. */
export function answerRequest(
  network: Network,
  number: string,
  about: {
    id: string;
    request: PeerRequest;
    messages: readonly Remembered[];
    wholeOf(message: Remembered): proto.IMessage | null | undefined;
  },
): proto.IMessage | undefined {
  const { id, request, messages, wholeOf } = about;
  const { historySyncOnDemandRequest: older, placeholderMessageResendRequest: lost } = request;
  if (older) return olderMessages(network, number, { messages, sessionId: id, request: older });
  if (request.peerDataOperationRequestType !== RequestType.PLACEHOLDER_MESSAGE_RESEND) return undefined;
  const ids = new Set(lost?.map(({ messageKey }) => messageKey?.id));
  const peerDataOperationResult = messages
    .filter((message) => ids.has(message.id))
    .map((message) => {
      const short = webMessage(network, number, message);
      const whole = wholeOf(message);
      return proto.WebMessageInfo.encode(whole === undefined ? short : { ...short, message: whole }).finish();
    })
    .map((webMessageInfoBytes) => ({ placeholderMessageResendResponse: { webMessageInfoBytes } }));
  const peerDataOperationRequestResponseMessage = {
    peerDataOperationRequestType: RequestType.PLACEHOLDER_MESSAGE_RESEND,
    stanzaId: id,
    peerDataOperationResult,
  };
  const type = ProtocolType.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE;
  return { protocolMessage: { type, peerDataOperationRequestResponseMessage } };
}

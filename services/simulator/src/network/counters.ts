/** What happened since the start, for tests and graphs. All only grow. */
export class Counters {
  connections = 0;
  logins = 0;
  refusedLogins = 0;
  replacedLogins = 0;
  pairings = 0;
  refusedPairings = 0;
  unlinkedDevices = 0;
  /** Messages the server took. */
  acceptedStanzas = 0;
  refusedStanzas = 0;
  /** Messages refused since they showed no token that is good for their recipient. */
  missingTokens = 0;
  /** Messages to people whose hidden identifier changed, after an ack had said so and before the sender asked for the new one. */
  staleLidSends = 0;
  /** Messages taken although the same account sent the same id to the same recipient before. */
  duplicateStanzas = 0;
  /** Messages sent again because a phone had asked for it. */
  retryResends = 0;
  /** Stanzas that came over a connection after a newer login of its device; none of them is taken. */
  stanzasFromOlderLogin = 0;
  /** Requests for a part of a backlog that came too soon after the one before; ignored. */
  hastyBatchRequests = 0;
  /** Streams ended over a status that was not confirmed. */
  unconfirmedStatuses = 0;
  /** Connections ended since a client did not answer the server's ping. */
  missedPongs = 0;
  /** Connections cut for what did not decrypt, parse or pass. */
  brokenConnections = 0;
  /** Messages put before a person. */
  shown = 0;
  /** Arrivals that a phone dropped since it had shown the message. */
  repeatsDropped = 0;
  decrypted = 0;
  /** Taken without decrypting, because of sampling. */
  sampledOut = 0;
  decryptFailures = 0;
  retryReceipts = 0;
  deliveryReceipts = 0;
  readReceipts = 0;
  acks = 0;
  droppedAcks = 0;
  iqs = 0;
  unknownIqs = 0;
  usyncQueries = 0;
  keyBundles = 0;
  preKeyUploads = 0;
  /** Given out by clients to their contacts. */
  privacyTokens = 0;
  uploads = 0;
  uploadedBytes = 0;
  invalidSignatures = 0;
}

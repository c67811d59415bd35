import { BASE32 } from './base32.js';
import type { DeviceAddress, SendTag, Workspace } from './ids.js';
import { shardOf } from './shards.js';

/** Every Redis key of the gateway has its name from here. `prefix` separates installations that share a Redis (and test runs). */
export interface KeySpace {
  prefix: string;
}

/** The data model's version, checked at start. */
export const schemaKey = ({ prefix }: KeySpace) => `${prefix}:schema`;

/** The version that the client appears as, one for the whole installation. */
export const clientVersionKeys = ({ prefix }: KeySpace) => ({
  /** HASH: the version that was set at run time; `seen:<version>` and `expires:<version>` in ms. */
  version: `${prefix}:client-version`,
  /** STRING: the version that the network has refused. */
  refused: `${prefix}:client-version:refused`,
  /** STRING with a TTL: while it exists, no device tries a refused version. */
  trial: `${prefix}:client-version:trial`,
});

/** The senders of the installation, for all workspaces. */
export const memberKeys = ({ prefix }: KeySpace) => ({
  /** ZSET process id -> last heartbeat in ms of Redis time. */
  members: `${prefix}:{#fleet}:members`,
  /** HASH process id -> how many devices it holds and may hold. */
  memberLoads: `${prefix}:{#fleet}:member-loads`,
});

/** What the metrics of the installation are read from. */
export const surveyKeys = ({ prefix }: KeySpace) => ({
  /** STRING with a TTL, JSON: the last survey. */
  survey: `${prefix}:survey`,
  /** STRING with a TTL: a process makes the next one. */
  turn: `${prefix}:survey:turn`,
});

/** HASH name of a workspace -> when it was made, in ms. `default` is there without an entry. */
export const workspacesKey = ({ prefix }: KeySpace) => `${prefix}:workspaces`;

/** SET of the workspaces whose events someone wants. */
export const eventWorkspacesKey = ({ prefix }: KeySpace) => `${prefix}:event-workspaces`;
/** Pub/sub channel: `workspace/shard` of an outbox that was empty. */
export const outboxChannel = ({ prefix }: KeySpace) => `${prefix}:outbox-bell`;
/** Pub/sub channel: a workspace whose log of events has grown. */
export const eventLogChannel = ({ prefix }: KeySpace) => `${prefix}:event-bell`;

/** SET of names of workspaces that are being deleted: they stay closed until nothing is left. */
export const deletedWorkspacesKey = ({ prefix }: KeySpace) => `${prefix}:deleted-workspaces`;

/** HASH key id of a token -> its workspace, of all tokens that there are. */
export const tokenIndexKey = ({ prefix }: KeySpace) => `${prefix}:token-index`;
/** HASH, the same of those whose key ids begin with one character: 32 parts, on all masters. */
export const tokenIndexPartKey = (space: KeySpace, keyId: string) => `${tokenIndexKey(space)}:${keyId[0]}`;
/** The whole one and all parts. */
export const tokenIndexKeys = (space: KeySpace) => [
  tokenIndexKey(space),
  ...Array.from(BASE32, (first) => tokenIndexPartKey(space, first)),
];

/** ZSET key id -> end in ms, of tokens that are in no list: by then they leave the index. */
export const passingTokensKey = ({ prefix }: KeySpace) => `${prefix}:passing-tokens`;

/** STRING with a TTL: requests of an address that had no valid token. */
export const addressLimitKey = ({ prefix }: KeySpace, bucket: string, ip: string) => `${prefix}:limit:${bucket}:${ip}`;

/** STRING with a TTL: requests of a token in this minute. */
export const tokenLimitKey = ({ prefix }: KeySpace, workspace: Workspace, bucket: string, keyId: string) =>
  `${prefix}:{${workspace}}:limit:${bucket}:${keyId}`;

/** Of the console: its users are those of the whole installation. Like shards it has a `#` in its tag, and no workspace has that. */
export function consoleKeys({ prefix }: KeySpace) {
  const base = `${prefix}:{#console}`;
  return {
    /** SET of the names of all users. */
    users: `${base}:users`,
    /** HASH: role, hash of the password, times. */
    user: (name: string) => `${base}:user:${name}`,
    /** STRING with a TTL: a session, by the SHA-256 of what its cookie says. */
    session: (digest: string) => `${base}:session:${digest}`,
    /** SET with a TTL: the digests of a user's sessions. */
    sessionsOf: (name: string) => `${base}:sessions-of:${name}`,
    /** STRING with a TTL: whom a one-time link signs in, by the SHA-256 of its secret. */
    oneTimeLink: (digest: string) => `${base}:one-time-link:${digest}`,
    /** STREAM: what users and operators changed; trimmed by age. */
    audit: `${base}:audit`,
    /** STREAM: what programs changed, by their tokens; trimmed by age, and for each of them. */
    auditOfPrograms: `${base}:audit-of-programs`,
    /** LIST with a TTL: the lines of one token in that stream, oldest first. */
    auditLines: (keyId: string) => `${base}:audit-lines:${keyId}`,
    /** Counter keys of rate limits start with this. */
    rateLimits: `${base}:limit:`,
  };
}

/** Keys of a workspace: small sets and tables that span devices. */
export function workspaceKeys({ prefix }: KeySpace, workspace: Workspace) {
  const base = `${prefix}:{${workspace}}`;
  return {
    /** HASH: what its operator allows it, by name (workspace/workspace-limits.ts); without an entry the installation's own limit. */
    limits: `${base}:limits`,
    /** SET of device ids. */
    devices: `${base}:devices`,
    /** STRING: the device of tokens without one; absent for `default`. */
    defaultDevice: `${base}:default-device`,
    /** HASH short device id -> device id. */
    shortDeviceIds: `${base}:short-device-ids`,
    /** HASH of one token, by key id. */
    token: (keyId: string) => `${base}:token:${keyId}`,
    /** SET of key ids of all tokens. */
    tokens: `${base}:tokens`,
    /** HASH digits of a number, or `-` and those of a hidden identifier -> when and how that person opted out, or `-` and the number that the identifier leads to: one of many small ones (docs/adr/0008). */
    optOuts: (bucket: number) => `${base}:opt-outs:${bucket}`,
    /** STRING, a bit per bucket of opt-outs: set when it has any. */
    optOutBuckets: `${base}:opt-out-buckets`,
    /** STRING: how many have opted out. */
    optOutCount: `${base}:opt-out-count`,
    /** ZSET entry of a person -> second (since 1970) in which they wrote START, of the last days: the network may bring an earlier STOP after it. */
    optOutStarts: `${base}:opt-out-starts`,
    /** STRING with a TTL `move:device`: the device that has the idempotency key of a token without a device. */
    idempotencyPlace: (owner: string, keyDigest: string) => `${base}:idempotency-place:${owner}:${keyDigest}`,
    /** HASH with a TTL, tenth of a second (since 1970) -> messages that were taken in it, where their number is limited. */
    backlogTaken: `${base}:backlog-taken`,
    /** HASH with a TTL, the same tenth and an id -> messages that are not written down yet. */
    backlogUnwritten: `${base}:backlog-unwritten`,
    /** ZSET hash of a blob -> when it may be forgotten, in ms. */
    blobs: `${base}:blobs`,
    /** HASH hash of a blob -> bytes. */
    blobSizes: `${base}:blob-sizes`,
    /** STRING: bytes of all blobs, for the quota. */
    blobBytes: `${base}:blob-bytes`,
    /** SET with a TTL: the sends that need a blob, each under its own name. */
    blobHolders: (hash: string) => `${base}:blob-holders:${hash}`,
    /** ZSET with a TTL: those of them that have not been promised to anyone yet -> until when they may be, in ms. */
    blobReserved: (hash: string) => `${base}:blob-reserved:${hash}`,
    /** HASH device -> bytes of what people wrote to it, and the hour of that (since 1970): `bytes/hour`. */
    receivedBytes: `${base}:received-bytes`,
    /** STREAM: its events (events/entry.ts), in the order in which they are told; only while someone wants them. */
    eventLog: `${base}:event-log`,
    /** HASH of that log: by shard, how far its outbox was copied, and, as `<shard>:missing`, how many missing entries were told, of both with `:by`, by which attempt; `goneTo`, `openedAtMs`, `readAtMs`, and `isOpen` once all is there, and on replicas where they are waited for. */
    eventMarks: `${base}:event-marks`,
    /** STRING with a TTL: a piece of a blob, sealed. */
    blobChunk: (hash: string, index: number) => `${base}:blob:${hash}:${index}`,
    /** SET of the ids of all webhook endpoints. */
    webhooks: `${base}:webhooks`,
    /** HASH: an endpoint; where it is and what signs for it are sealed. */
    webhook: (id: string) => `${base}:webhook:${id}`,
    /** STRING with a TTL: a process that delivers to endpoints of this workspace lives. */
    webhookSession: (processId: string) => `${base}:webhook-session:${processId}`,
    /** HASH attempt -> sealed: what was last posted to it, and what it answered. */
    webhookAttempts: (id: string) => `${base}:webhook-attempts:${id}`,
    /** ZSET attempt -> when, in ms, of the same. */
    webhookAttemptTimes: (id: string) => `${base}:webhook-attempts:${id}:times`,
    /** STRING, encrypted: makes the keys of recipients below (libs/store/src/webhooks/delivering/parking-key.ts). */
    parkingKey: `${base}:parking-key`,
    /** HASH key of a recipient -> lines: what was put aside for an endpoint (libs/store/src/webhooks/delivering/parked.ts). */
    webhookParked: (id: string) => `${base}:webhook-parked:${id}`,
    /** ZSET key of a recipient -> when the first of these is posted again, in ms. */
    webhookParkedDue: (id: string) => `${base}:webhook-parked:${id}:due`,
    /** ZSET key of a recipient -> since when they are put aside, in ms. */
    webhookParkedSince: (id: string) => `${base}:webhook-parked:${id}:since`,
    /** LIST: what is told to it once more, the first of them now (libs/store/src/webhooks/delivering/replays.ts). */
    webhookReplays: (id: string) => `${base}:webhook-replays:${id}`,
  };
}

/** Keys of a device: with the hash tag of its shard, hence in one slot, so a Lua step may touch all of them and those of the shard. */
export function deviceKeys({ prefix }: KeySpace, address: DeviceAddress) {
  const base = `${prefix}:${shardTag(shardOf(address))}:${address.workspace}/${address.device}`;
  return {
    /** Of every key of the device. */
    base,
    /** HASH: constants of the device (display name, encrypted id key) and the operator's settings. */
    device: `${base}:device`,
    /** HASH: the state that the user wants. */
    desired: `${base}:desired`,
    /** HASH: the state that the owner observes. */
    observed: `${base}:observed`,
    /** STREAM: its last 500 changes of status or reason. */
    history: `${base}:history`,
    /** STRING `session:epoch`: who owns the device, for as long as that session lives. No TTL. */
    owner: `${base}:owner`,
    /** STRING: the last epoch given out; only grows. */
    epoch: `${base}:epoch`,
    /** SET with a TTL: ownerships, as `owner` has them, that ended with their process, or failed, since one has lasted. */
    starts: `${base}:started`,
    /** LIST with a TTL: when another client took the place of the device lately, in ms, the newest first. */
    replaced: `${base}:replaced`,
    /** STRING: encrypted credentials. */
    creds: `${base}:creds`,
    /** HASH field -> encrypted key, one per type and bucket. */
    keyBucket: (type: string, bucket: number) => `${base}:keys:${type}:${bucket}`,
    /** SET of ids of contacts with a privacy token, in place of the library's one growing index. */
    contactIndex: `${base}:contact-index`,
    /** SET of the key buckets that exist, so that a wipe finds them without a scan. */
    keyBuckets: `${base}:key-buckets`,
    /** ZSET message id -> expiry in ms, of sends with work left. */
    openSends: `${base}:open-sends`,
    /**
     * Of each owner what their sends take: `:bytes:<owner>`, a STRING with a TTL, `:waiting:<owner>`, the same of messages, and `:ended:<owner>`, a ZSET with a TTL of message id and bytes
     * -> ms at which an ended send is forgotten.
     */
    keptSends: `${base}:kept`,
    /** STRING: messages queued in open sends. */
    backlog: `${base}:backlog`,
    /** STRING: credentials of an account that was logged out from outside, kept for a while for investigations. */
    quarantinedCreds: `${base}:creds:quarantined`,
    /** HASH with a TTL: the send of a caller's idempotency key. `move` counts the devices that it lay at before. */
    idempotency: (owner: string, keyDigest: string, move: number) =>
      `${base}:idempotency:${owner}:${keyDigest}${move > 0 ? `:${move}` : ''}`,
    /** STRING with a TTL: a request under that key is being handled. */
    idempotencyClaim: (owner: string, keyDigest: string, move: number) =>
      `${base}:idempotency-claim:${owner}:${keyDigest}:${move}`,
    /** HASH platform id -> encrypted message that the device recently received, with any of its accounts. */
    received: `${base}:received`,
    /** ZSET platform id -> ms of its arrival, of the same, and of what was forgotten on request. */
    receivedTimes: `${base}:received:times`,
    /** STRING with a TTL: bytes of both. */
    receivedBytes: `${base}:received:bytes`,
    /** STRING with a TTL: when the latest came that had to go for room, before its time, in ms: all that came before it are gone, too. */
    receivedLost: `${base}:received:lost`,
    /** HASH: why and until when messages to new contacts wait; absent when they do not. */
    restriction: `${base}:restriction`,
    /** SET of numbers whose messages the network refused under that restriction. */
    refusedContacts: `${base}:restriction:refused`,
    /** HASH with a TTL: query -> ends of the connection in a row while it had no answer. */
    queryEnds: `${base}:query-ends`,
    /** HASH: the state of the device's pace. */
    pace: `${base}:pace`,
    /** SET of pairs of a blob and a send that no longer needs it, to be released in the workspace. */
    releasedBlobs: `${base}:released-blobs`,
    /** STRING with a TTL: where the network keeps a blob as a medium of this type, sealed. */
    blobUpload: (hash: string, type: string) => `${base}:blob-upload:${hash}:${type}`,
    /** HASH with a TTL, question id -> sealed question for the owner of the device. */
    questions: `${base}:questions`,
    /** HASH with a TTL: the owner's answers so far. */
    answer: (questionId: string) => `${base}:answer:${questionId}`,
    /** STRING with a TTL: numbers that were checked on that day (days since 1970, UTC). */
    contactChecks: (day: number) => `${base}:contact-checks:${day}`,
  };
}

/** Cannot be confused with that of a workspace, whose name has no `#`. */
const shardTag = (shard: number) => `{#${shard}}`;

/** Of the name under which a process starts again (`INSTANCE_NAME`). */
export const instanceKeys = ({ prefix }: KeySpace, name: string) => ({
  /** HASH: the process that has the name, and its session in each shard. */
  instance: `${prefix}:instance:${name}`,
  /** STRING with a TTL: the process that has the name has answered this question. */
  answer: (question: string) => `${prefix}:instance:${name}:answer:${question}`,
  /** Pub/sub channel: asks the process that has the name whether it lives. */
  channel: `${prefix}:instance:${name}:asked`,
});

/** Prefix of the session keys of processes in a shard; the id follows. */
export const sessionKeyPrefix = ({ prefix }: KeySpace, shard: number) => `${prefix}:${shardTag(shard)}:session:`;

/** Data of a shard about its devices, for all workspaces. */
export function shardKeys({ prefix }: KeySpace, shard: number) {
  const base = `${prefix}:${shardTag(shard)}:`;
  return {
    /** Of every key of a device there, before `workspace/device`. */
    base,
    /** SET of `workspace/device`: every device that was ever made. */
    devices: `${base}devices`,
    /** ZSET `workspace/device/tag` of a send -> when something is to be done for it, in ms of Redis time. */
    due: `${base}due`,
    /** STRING: the session that serves what is due, for as long as that lives. */
    steward: `${base}steward`,
    /** STREAM with a TTL: `device/tag` of each send of a workspace, as it was accepted; trimmed by age. */
    sends: (workspace: Workspace) => `${base}sends:${workspace}`,
    /**
     * What became of recipients in a workspace: `:<hour>`, a STRING with a TTL (sends/activity.ts), and `:errors:<hour>`, a HASH with
     * a TTL, error code -> recipients that failed of it. Hours since 1970.
     */
    activity: (workspace: Workspace) => `${base}activity:${workspace}`,
    /** STRING with a TTL: written to see whether the node of the shard takes writes. */
    writable: `${base}writable`,
    /** STRING: what became of all recipients (sends/totals.ts); `:errors`, a HASH, error code -> recipients that failed of it. */
    totals: `${base}totals`,
    /**
     * STREAM: what changed in a workspace (events/entry.ts), until the relay has it; only while someone wants its events. `:missing`, a
     * STRING: how many entries it had no room for.
     */
    outbox: (workspace: Workspace) => `${base}outbox:${workspace}`,
    /** STRING: which opening has made it, or found it there (libs/store/src/events/opening). */
    outboxStamp: (workspace: Workspace) => `${base}outbox:${workspace}:stamp`,
    /** ZSET `workspace/device/tag` of each open send -> when its last message was promised to have gone out, in ms. */
    promised: `${base}promised`,
  };
}

/** STRING with a TTL: a process lives, as far as devices of this shard go. */
export const sessionKey = (space: KeySpace, { shard, id }: { shard: number; id: string }) =>
  `${sessionKeyPrefix(space, shard)}${id}`;

/** The part of a device's or workspace's key after its base; `undefined` for other keys. */
export function restOfKey({ prefix }: KeySpace, key: string): string | undefined {
  if (!key.startsWith(`${prefix}:{`)) return undefined;
  return /^\{(?:#\d+\}:[a-z0-9-]+\/[a-z0-9-]+|[a-z0-9-]+\}):(.*)$/s.exec(key.slice(prefix.length + 1))?.[1];
}

/** Keys of one send, by its tag: a message id and each of its platform ids lead here without an index. Short, for there are many. */
export function sendKeys(space: KeySpace, address: DeviceAddress, tag: SendTag) {
  const { base } = deviceKeys(space, address);
  return {
    /** STRING: the packed send (sends/send-layout.ts); with a TTL from its end on. */
    record: `${base}:s:${tag}`,
    /** STRING with a TTL: what it says, and what it answers, sealed. */
    content: `${base}:c:${tag}`,
  };
}

/** BullMQ's own prefix; queue names carry the hash tag. */
export const queuePrefix = ({ prefix }: KeySpace) => `${prefix}:q`;
/** Of the queue of a process. */
export const queueName = (processId: string) => `{${processId}}`;
/** ZSET process id -> when its queue was last said to be of use, in ms. */
export const queuesKey = ({ prefix }: KeySpace) => `${prefix}:queues`;

/** Pub/sub channel of doorbells. */
export const doorbellChannel = ({ prefix }: KeySpace) => `${prefix}:doorbell`;

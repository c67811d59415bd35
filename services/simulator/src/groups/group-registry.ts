import { randomBytes } from 'node:crypto';
import { Group } from './group.js';

export interface GroupsState {
  readonly groups: readonly Omit<Group, 'jid' | 'isAdmin'>[];
  readonly lastId: bigint;
}

/** All groups. */
export class GroupRegistry {
  readonly #groups = new Map<string, Group>();
  #lastId = 120363000000000000n;

  create(creator: string, subject: string, atMs: number): Group {
    this.#lastId += 1n;
    const group = new Group(String(this.#lastId), { creator, subject, inviteCode: newInviteCode(), atMs });
    this.#groups.set(group.jid, group);
    return group;
  }

  find(jid: string | undefined): Group | undefined {
    return jid === undefined ? undefined : this.#groups.get(jid);
  }

  findByInvite(code: string | undefined): Group | undefined {
    return [...this.#groups.values()].find(({ inviteCode }) => inviteCode === code);
  }

  ofMember(number: string): Group[] {
    return [...this.#groups.values()].filter(({ members }) => members.has(number));
  }

  save(): GroupsState {
    return { groups: [...this.#groups.values()].map((group) => ({ ...group })), lastId: this.#lastId };
  }

  load({ groups, lastId }: GroupsState): void {
    this.#lastId = lastId;
    for (const state of groups) {
      const { id, creator, subject, inviteCode, createdAtMs: atMs } = state;
      const group = Object.assign(new Group(id, { creator, subject, inviteCode, atMs }), state);
      this.#groups.set(group.jid, group);
    }
  }

  all(): IterableIterator<Group> {
    return this.#groups.values();
  }
}

export function newInviteCode(): string {
  return randomBytes(16).toString('base64url').slice(0, 22);
}

export type GroupRole = 'superadmin' | 'admin' | undefined;

/** A group and who is in it. */
export class Group {
  /** The part before `@g.us`. */
  readonly id: string;
  readonly creator: string;
  readonly createdAtMs: number;
  /** Number of each member -> role. */
  readonly members = new Map<string, GroupRole>();
  subject: string;
  subjectOwner: string;
  subjectAtMs: number;
  description: { readonly id: string; readonly text: string; readonly by: string; readonly atMs: number } | undefined;
  /** Switches by the name of the node that turns them on: announcement, locked. */
  readonly switches = new Set<string>();
  picture: Buffer | undefined;
  ephemeralSeconds = 0;
  memberAddMode = 'admin_add';
  joinApproval = false;
  /** Who wants to come in, and since when (Unix milliseconds). */
  readonly requests = new Map<string, number>();
  inviteCode: string;

  constructor(id: string, about: { creator: string; subject: string; inviteCode: string; atMs: number }) {
    this.id = id;
    this.creator = about.creator;
    this.createdAtMs = about.atMs;
    this.subject = about.subject;
    this.subjectOwner = about.creator;
    this.subjectAtMs = about.atMs;
    this.inviteCode = about.inviteCode;
    this.members.set(about.creator, 'superadmin');
  }

  get jid(): string {
    return `${this.id}@g.us`;
  }

  isAdmin(number: string): boolean {
    return this.members.get(number) !== undefined;
  }
}

/**
 * What a user of the console may do, the least first. A viewer sees that things happen: numbers are masked, and nothing of
 * what messages say is shown. An operator works: devices, sends, opt-outs. An admin has tokens and users as well.
 */
export const USER_ROLES = ['viewer', 'operator', 'admin'] as const;
export type UserRole = (typeof USER_ROLES)[number];

export function mayAct(role: UserRole, needed: UserRole): boolean {
  return USER_ROLES.indexOf(role) >= USER_ROLES.indexOf(needed);
}

const USER_NAME = /^[a-z0-9][a-z0-9._@-]{0,63}$/;

/** The name of a user, as it is signed in with: lower case, an e-mail address is one. */
export function isUserName(value: string): boolean {
  return USER_NAME.test(value);
}

/** The name that is meant by what was typed; what is none stays none. */
export function userNameOf(typed: string): string {
  return typed.trim().toLowerCase();
}

/** As long as a sentence: what counts is that they cannot all be tried. */
export const PASSWORD_CHARACTERS = { min: 10, max: 200 } as const;

/** The user that the first start makes. */
export const FIRST_USER = 'admin';

/** In the audit log: one at the command line, which has no users. */
export const COMMAND_LINE = 'command line';

/** What the audit log tells of. */
export const AUDIT_ACTIONS = [
  'user.created',
  'user.link_made',
  'user.role_set',
  'user.removed',
  'user.password_set',
  'session.signed_in',
  'session.signed_out',
  'session.signed_out_everywhere',
  'token.created',
  'token.rotated',
  'token.scopes_set',
  'token.revoked',
  'device.link_asked',
  'device.disconnected',
  'device.renamed',
  'device.made_default',
  'device.pace_set',
  'device.removed',
  'device.imported',
  'device.exported',
  'opt_outs.added',
  'opt_out.lifted',
  'person.forgotten',
  'message.sent',
  'message.cancelled',
  'keys.resealed',
  'version.set',
  'workspace.created',
  'workspace.limited',
  'workspace.deleted',
  'webhook.created',
  'webhook.changed',
  'webhook.tested',
  'webhook.secret_rotated',
  'webhook.paused',
  'webhook.resumed',
  'webhook.replayed',
  'webhook.deleted',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Whether it concerns the whole installation, and not one workspace. */
export function isOfInstallation(action: AuditAction): boolean {
  return /^(user|session|keys|version|workspace)\./.test(action);
}

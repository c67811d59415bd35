import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';

/** Asked for each change. */
export interface Wanted {
  types: ReadonlySet<string>;
  /** Without changes nothing is looked up for them. */
  hasChanges: boolean;
  /** Statuses of which each change is an event of its own. */
  alone: Record<ChangeName, ReadonlySet<string>>;
}

/** Of events of changes. */
type ChangeName = 'message' | 'otp';

/** A part of an entry that was told by what was asked for then: from where the one before ends. */
export interface AskedPart {
  upTo: number;
  wanted: Wanted;
}

/** In which ways a change is told. */
export interface ChangeShape {
  isAlone: boolean;
  isTogether: boolean;
  /** It is told alone before, or was. */
  isTwice: boolean;
  /** One passed it where it was to be told with what comes behind it, and would be told it before that now, or alone. */
  isOwed: boolean;
}

interface Asking {
  wanted: Wanted;
  taken: number;
  asked: readonly AskedPart[] | undefined;
}

export const UPDATED = 'messages.updated';
const NOT_TOLD: ChangeShape = { isAlone: false, isTogether: false, isTwice: false, isOwed: false };
const ALONE: ChangeShape = { ...NOT_TOLD, isAlone: true, isTwice: true };
const TOGETHER: ChangeShape = { ...NOT_TOLD, isTogether: true };
const IN_BOTH_WAYS: ChangeShape = { ...ALONE, isTogether: true };

export function wantedOf(given: readonly string[]): Wanted {
  // That something is missing is told to all.
  const types = new Set([...given, 'events.gap']);
  const alone = (name: ChangeName) =>
    new Set<string>(RECIPIENT_STATUSES.filter((status) => types.has(`${name}.${status}`)));
  const hasChanges = given.some((type) => /^(messages|otp)\.|^message\.(?!received)/.test(type));
  return { types, hasChanges, alone: { message: alone('message'), otp: alone('otp') } };
}

/**
 * Who asks for both ways is told some changes alone first, and then all together; and may ask for others in between. What was to be
 * told together only is owed then, in whichever way is asked for now. What was told alone is told with others as well only where both
 * are still asked for.
 * @param place how far one is who was told it alone.
 */
export function shapeOf(
  { wanted, taken, asked }: Asking,
  name: ChangeName,
  status: RecipientStatus,
  place: number,
): ChangeShape {
  const isAlone = wanted.alone[name].has(status);
  const isTogether = isGathered(wanted, name);
  if (!asked || place > taken) return isAlone ? (isTogether ? IN_BOTH_WAYS : ALONE) : isTogether ? TOGETHER : NOT_TOLD;
  const former = asked.find(({ upTo }) => place <= upTo)?.wanted ?? wanted;
  if (!isGathered(former, name) || former.alone[name].size === 0) return NOT_TOLD;
  if (former.alone[name].has(status)) return { ...NOT_TOLD, isTogether: isTogether && isAlone, isTwice: true };
  const isOwed = isAlone || (isTogether && wanted.alone[name].size === 0);
  return { ...NOT_TOLD, isAlone: isAlone && !isTogether, isTogether, isOwed };
}

/** Codes are told of alone. */
const isGathered = ({ types }: Wanted, name: ChangeName) => name !== 'otp' && types.has(UPDATED);

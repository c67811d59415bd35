import { type Gate, type GateAnswer, type GateDeps, PASS } from './gate.js';

/** Messages to strangers wait for as long as the network refuses them, or would without the history of the phone. */
export const restrictionGate: Gate = async (deps, { to }) => {
  // The keys are gone with the session: the next one is asked.
  return ask(deps, to).catch(() => ({ kind: 'lookUp' }));
};

async function ask({ session, hold, firstContacts }: GateDeps, to: string): Promise<GateAnswer> {
  if (hold.isOn && !(await hold.findKnown(session, [to])).has(to)) return { kind: 'hold', reason: 'new_contacts_held' };
  if (firstContacts.isOn && !(await session.findGivers([to])).has(to))
    return { kind: 'hold', reason: 'awaiting_history' };
  return PASS;
}

import { type BinaryNode, childrenNamed } from '../../wire/nodes.js';
import type { Server } from '../stanza-context.js';

/** What a query about groups answers, or the code of its refusal. */
export type Outcome = BinaryNode[] | number;

/** Numbers of the people a query names. */
export function numbersIn(server: Server, parent: BinaryNode): string[] {
  const { directory } = server.network;
  return childrenNamed(parent, 'participant').flatMap(({ attrs }) => directory.resolve(attrs.jid)?.number ?? []);
}

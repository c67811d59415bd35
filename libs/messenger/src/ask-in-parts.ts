import { networkCodeOf } from './session-errors.js';

/** Codes by which the network refuses a query because of one of those it is about, without saying which. */
const ABOUT_ONE: ReadonlySet<number> = new Set([400, 404, 406]);
/** Queries that one batch may come to. One bad name among a hundred costs fourteen. */
const MAX_QUERIES = 48;

export interface AnswersInParts<Item, Answer> {
  answers: Answer[];
  /** Those that the network refuses to say anything about, with its code; past `MAX_QUERIES` also their neighbours. */
  refused: Map<Item, number>;
}

/** Halves a batch that is refused, and its halves: one bad name must not fail a hundred. Throws other failures. */
export async function askInParts<Item, Answer>(
  items: readonly Item[],
  ask: (items: readonly Item[]) => Promise<Answer[]>,
): Promise<AnswersInParts<Item, Answer>> {
  const answers: Answer[] = [];
  const refused = new Map<Item, number>();
  const open = [items];
  let queries = 0;
  for (let part = open.pop(); part; part = open.pop()) {
    try {
      queries += 1;
      answers.push(...(await ask(part)));
    } catch (thrown) {
      const code = networkCodeOf(thrown) ?? 0;
      if (!ABOUT_ONE.has(code)) throw thrown;
      const middle = Math.ceil(part.length / 2);
      if (part.length > 1 && queries + open.length + 2 <= MAX_QUERIES)
        open.push(part.slice(middle), part.slice(0, middle));
      else for (const item of part) refused.set(item, code);
    }
  }
  return { answers, refused };
}

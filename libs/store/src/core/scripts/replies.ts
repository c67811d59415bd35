/** Converts the reply of a Lua step for its caller. */
export type ReadReply<R> = (reply: unknown) => R;

export const nothing: ReadReply<void> = () => undefined;

export const numeric: ReadReply<number> = (reply) => Number(reply);

export const isOne: ReadReply<boolean> = (reply) => reply === 1;

export const word: ReadReply<string> = (reply) => String(reply);

/** A list of texts. */
export const words: ReadReply<string[]> = (reply) => reply as string[];

/** One of these words. */
export function oneOf<const W extends string>(...known: W[]): ReadReply<W> {
  return (reply) => {
    const found = known.find((each) => each === reply);
    if (found === undefined) throw new Error(`a Lua step answers ${reply}, which is none of ${known.join(', ')}`);
    return found;
  };
}

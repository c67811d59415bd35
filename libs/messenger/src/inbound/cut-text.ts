const HALF_AT_END = /[\uD800-\uDBFF]$/;
/** Phones send them, and no UTF-8 can hold them: a program that reads our JSON may refuse all of it. */
const HALVES = /\p{Surrogate}/gu;

/** The beginning of a text, without half a character at its end or elsewhere. */
export function cutText(text: string | null | undefined, characters: number): string {
  return (text ?? '').slice(0, characters).replace(HALF_AT_END, '').replace(HALVES, '\ufffd');
}

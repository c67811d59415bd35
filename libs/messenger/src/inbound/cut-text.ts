const HALF_AT_END = /[\uD800-\uDBFF]$/;

/** The beginning of a text, without half a character at its end. */
export function cutText(text: string | null | undefined, characters: number): string {
  return (text ?? '').slice(0, characters).replace(HALF_AT_END, '');
}

/** Whether a text has at most so many characters: code points, as JSON Schema counts, not the UTF-16 units of `length`. */
export function hasAtMost(text: string, characters: number): boolean {
  if (text.length <= characters) return true;
  return text.length <= characters * 2 && [...text].length <= characters;
}

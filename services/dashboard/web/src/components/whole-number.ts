/** Whether a text is a whole number of up to six digits within these bounds. */
export function isWhole(text: string, least: number, most: number): boolean {
  return /^\d{1,6}$/.test(text.trim()) && Number(text) >= least && Number(text) <= most;
}

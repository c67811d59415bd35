export interface TextContent {
  kind: 'text';
  text: string;
}

/** Whether something of this kind that is stored is whole. By hand: most sends have nothing else, and Joi takes 2 to 12 us for it. */
export function isTextContent({ text }: { readonly text?: unknown }): boolean {
  return typeof text === 'string' && text !== '';
}

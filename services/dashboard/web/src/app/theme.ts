import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

/** The one accent. White on its shades 6 and 7 is above 4.5:1, as WCAG AA wants. */
const sea: MantineColorsTuple = [
  ...['#eefaf6', '#d6f2e9', '#abe4d3', '#78d2ba', '#45b99e', '#249c83'],
  ...['#14806b', '#0f6b5c', '#0d564b', '#0b4840'],
] as unknown as MantineColorsTuple;

/** From text to the deepest ground. */
const dark: MantineColorsTuple = [
  ...['#e4e8ee', '#c2c9d3', '#9aa4b2', '#727d8c', '#353d48', '#2a313b'],
  ...['#1d232b', '#14191f', '#0f1318', '#0a0d11'],
] as unknown as MantineColorsTuple;

export const theme = createTheme({
  primaryColor: 'sea',
  primaryShade: { light: 7, dark: 6 },
  colors: { sea, dark },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: "'Inter Variable', 'Readex Pro Variable', system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: '620' },
  components: {
    // Lines between things need no border of 3:1, as fields have it.
    Table: { defaultProps: { borderColor: 'var(--line)' } },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.4, blur: 2 },
        // It is a `<header>`, and the page has one already.
        attributes: { header: { role: 'presentation' } },
      },
      styles: { title: { fontWeight: 620 } },
    },
    // Its arrow is a picture without a meaning.
    NativeSelect: { defaultProps: { rightSectionProps: { 'aria-hidden': true } } },
    Tooltip: { defaultProps: { openDelay: 300 } },
  },
});

/** What Mantine's own palette has too faint for WCAG AA. */
export const readableColors: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-text': '#171c22',
    '--mantine-color-dimmed': '#565f6b',
    '--mantine-color-placeholder': '#6a7380',
    '--mantine-color-error': '#b42318',
    '--mantine-color-default-border': '#8b95a1',
    '--mantine-color-body': '#ffffff',
    '--ground': '#f6f7f8',
    '--line': '#e3e6ea',
    '--good': '#0f7b4d',
    '--warn': '#9a5b00',
    '--bad': '#b42318',
    '--idle': '#6a7380',
    '--chosen': '#e4f4ef',
    '--chosen-text': '#0d564b',
  },
  dark: {
    '--mantine-color-text': '#e4e8ee',
    '--mantine-color-dimmed': '#9aa4b2',
    '--mantine-color-placeholder': '#8591a0',
    '--mantine-color-error': '#ff8f85',
    '--mantine-color-default-border': '#66717f',
    '--ground': '#0f1318',
    '--line': '#262d36',
    '--good': '#4fce97',
    '--warn': '#efb54c',
    '--bad': '#ff8f85',
    '--idle': '#8591a0',
    '--chosen': '#1b3430',
    '--chosen-text': '#abe4d3',
  },
});

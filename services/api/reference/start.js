// Appended to Scalar's own program, which has made `Scalar`.

// The console leads here with a token behind the `#`, which browsers send to no server. It is taken out of the address.
const token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token !== null) history.replaceState(null, '', location.pathname + location.search);

// The program speaks both languages of the console; names and descriptions are those of the document, in English.
const language = new URLSearchParams(location.search).get('language') ?? navigator.language;
const locale = language.startsWith('ar') ? 'ar' : 'en';
document.documentElement.lang = locale;

// Scalar's own colours are too faint for WCAG AA. The accent is that of the console.
const colors = `
  .light-mode {
    --scalar-color-2: #565f6b; --scalar-color-3: #5f6873; --scalar-color-accent: #0f6b5c; --scalar-color-green: #0a6c43;
    --scalar-color-red: #b42318; --scalar-color-yellow: #855000; --scalar-color-orange: #9a4a00; --scalar-color-blue: #0b5cad;
  }
  /* English descriptions keep their order on an Arabic page. */
  .markdown :is(p, li, h1, h2, h3, td) { unicode-bidi: plaintext; }
  .dark-mode { --scalar-color-3: #9aa4b2; --scalar-color-accent: #45b99e; --scalar-color-red: #ff8f85; }
`;

globalThis.Scalar.createApiReference('#reference', {
  url: document.querySelector('#reference').dataset.url,
  // Nothing is loaded from elsewhere, and nothing is told to anyone; the page's Content-Security-Policy allows neither.
  withDefaultFonts: false,
  customCss: colors,
  telemetry: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  documentDownloadType: 'direct',
  localization: { locale },
  defaultOpenFirstTag: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: {
    preferredSecurityScheme: 'bearer',
    ...(token !== null && { securitySchemes: { bearer: { token } } }),
  },
});

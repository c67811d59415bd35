// Appended to Scalar's own program, which has made `Scalar`.

// The console leads here with a token behind the `#`, which browsers send to no server. It is taken out of the address.
const token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token !== null) history.replaceState(null, '', location.pathname);

globalThis.Scalar.createApiReference('#reference', {
  url: document.querySelector('#reference').dataset.url,
  // Nothing is loaded from elsewhere, and nothing is told to anyone; the page's Content-Security-Policy allows neither.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  documentDownloadType: 'direct',
  defaultOpenFirstTag: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: {
    preferredSecurityScheme: 'bearer',
    ...(token !== null && { securitySchemes: { bearer: { token } } }),
  },
});

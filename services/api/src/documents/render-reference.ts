import type { OpenApi } from './build-openapi.js';

/** The page that shows the document to people. What it runs is `docs/reference.js`; the nonce is for the styles that this makes. */
export function renderReference({ info: { title } }: OpenApi, nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta property="csp-nonce" content="${nonce}">
<title>${title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference" data-url="openapi.json"></div>
<noscript>The same for programs: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/reference.js"></script>
</body>
</html>
`;
}

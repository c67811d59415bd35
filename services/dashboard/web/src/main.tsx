import './app/styles.js';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.js';
import { startLanguage } from './app/language.js';

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// For the style that a dialog puts into the page, to keep what is behind it from scrolling.
setNonce(nonce);
await startLanguage();
createRoot(document.getElementById('root')!).render(<App nonce={nonce} />);

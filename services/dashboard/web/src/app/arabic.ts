// The one font for Arabic: loaded when the page is Arabic, and not before.
import '@fontsource-variable/readex-pro/wght.css';

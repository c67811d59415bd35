import { register } from 'node:module';

/** Loaded in front of a process of the gateway (see settings.ts), this makes it one of the next version. */
register('./rewrite-layout.js', import.meta.url);

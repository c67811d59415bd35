import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import reference from '@scalar/fastify-api-reference';

const OUT = join(import.meta.dirname, '../dist/reference');

/**
 * Takes the page's program out of the package that carries it as one file: of all that Scalar publishes it has by far the
 * fewest dependencies. It is a plugin of Fastify, which tells its routes to the server that it is given.
 */
const routes = [];
const server = { route: (route) => routes.push(route), hasPlugin: () => false, log: console, initialConfig: {} };
await promisify(reference)(server, { configuration: { url: 'openapi.json' } });
const { handler } = routes.find(({ url }) => url.endsWith('.js'));
const program = await new Promise((resolve) => handler({}, { header: () => ({ send: resolve }) }));

const [before, after] = ['allow-styles.js', 'start.js'].map((name) =>
  readFileSync(join(import.meta.dirname, name), 'utf8'),
);
mkdirSync(OUT, { recursive: true });
writeFileSync(join(OUT, 'reference.js.gz'), await promisify(gzip)([before, program, after].join('\n'), { level: 9 }));

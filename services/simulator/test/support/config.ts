/** Downloads of stock clients go through `fetch`, which takes a self-signed certificate only when the process says so. */
export function trustAnyCertificate(): void {
  const name = 'NODE_TLS_REJECT_UNAUTHORIZED';
  let usual: string | undefined;
  before(() => {
    usual = process.env[name];
    process.env[name] = '0';
  });
  after(() => {
    if (usual === undefined) delete process.env[name];
    else process.env[name] = usual;
  });
}

/** The stock client's Signal library prints whole sessions, keys included, whenever it closes one. */
export function muteSignalLibrary(): void {
  const { info, warn, error } = console;
  before(() => Object.assign(console, { info: () => {}, warn: () => {}, error: () => {} }));
  after(() => Object.assign(console, { info, warn, error }));
}

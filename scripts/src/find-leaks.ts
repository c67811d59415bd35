/** Long enough for connections that are about to close. */
const PATIENCE_MS = 10_000;

/**
 * Tests that leave a server, a timer or a connection behind would keep the run from ending. It says what is left, and
 * ends as a failure.
 * @public mocha loads it by its path.
 */
export const mochaHooks = {
  afterAll() {
    setTimeout(() => {
      console.error(`The tests left behind: ${process.getActiveResourcesInfo().join(', ')}`);
      // Mocha sets the exit code last of all, to the number of failures: this comes after it.
      process.on('exit', () => {
        process.exitCode = 1;
      });
      process.exit();
    }, PATIENCE_MS).unref();
  },
};

// Resources that a test opens are closed after the test, whether the test passes or fails.

const disposals = [];

/** Runs `dispose` after the current test. */
export function afterThisTest(dispose) {
  disposals.push(dispose);
}

afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

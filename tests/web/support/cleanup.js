// Resources that a test opens are closed after the test, whether the test passes or fails.

const later = [];

/** Runs `dispose` after the current test. */
export function afterThisTest(dispose) {
  later.push(dispose);
}

afterEach(async () => {
  for (const dispose of later.splice(0).reverse()) await dispose();
});

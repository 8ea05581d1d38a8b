// Resources that a test opens are closed after it, whether it passes or not.

const later = [];

/** Runs `dispose` after the current test. */
export function afterThisTest(dispose) {
  later.push(dispose);
}

afterEach(async () => {
  for (const dispose of later.splice(0).reverse()) await dispose();
});

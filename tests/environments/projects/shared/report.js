// Runs tests one after another, and prints a line of JSON for each test.

export async function report(tests) {
  for (const [name, body] of tests) {
    let error;
    try {
      await body();
    } catch (thrown) {
      error = String(thrown?.stack ?? thrown);
    }
    console.log(JSON.stringify({ name, error }));
  }
}

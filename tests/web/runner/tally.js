// Counts the results of mocha, in Node and in the page of the runner.

/** The results of a run. `files` has the counts of each file. `current` is the name of the test that is running. */
export class Tally {
  passed = 0;
  failures = [];
  files = {};
  current = "";
  done = false;

  /** Records the results of a run of mocha. `fileOf` returns the name of the file that contains a test. */
  follow(run, fileOf) {
    const count = (test, kind) => {
      const file = fileOf(test);
      this.files[file] ??= { passed: 0, failed: 0 };
      this.files[file][kind]++;
    };
    run.on("test", (test) => (this.current = test.fullTitle()));
    run.on("pass", (test) => {
      this.passed++;
      count(test, "passed");
    });
    run.on("fail", (test, error) => {
      count(test, "failed");
      this.fail(`${fileOf(test)}: ${test.fullTitle()}`, textOfError(error));
    });
    // mocha itself does not count a skipped test as failed, so it is counted here.
    run.on("pending", (test) => {
      count(test, "failed");
      this.fail(`${fileOf(test)}: ${test.fullTitle()}`, "skipped");
    });
  }

  fail(name, message) {
    this.failures.push({ name, message });
  }
}

/** Returns the text of an error, with the actual and the expected value of a failed assertion. */
export function textOfError(error) {
  const { actual, expected, stack, message } = Object(error);
  const text = String(stack ?? message ?? error);
  const head = text.includes(message) ? text : `${message}\n${text}`;
  if (actual === undefined && expected === undefined) return head;
  return `${head}\nexpected: ${show(expected)}\nactual:   ${show(actual)}`;
}

function show(value) {
  try {
    return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${inner}n` : inner)) ?? String(value);
  } catch {
    return String(value);
  }
}

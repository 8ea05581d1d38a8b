// Counts the reports of mocha. Runs in Node and in the runner page, and so imports nothing.

/** The results of a run: `passed`, `failures` and the counts of each file; `current` is the running test. */
export class Tally {
  passed = 0;
  failures = [];
  files = {};
  current = "";
  done = false;

  /** Follows a run of mocha; `fileOf` names the file that a test comes from. */
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
      this.fail(`${fileOf(test)}: ${test.fullTitle()}`, describe(error));
    });
    // A test that is left out looks like one that has passed.
    run.on("pending", (test) => {
      count(test, "failed");
      this.fail(`${fileOf(test)}: ${test.fullTitle()}`, "skipped");
    });
  }

  fail(name, message) {
    this.failures.push({ name, message });
  }
}

export function describe(error) {
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

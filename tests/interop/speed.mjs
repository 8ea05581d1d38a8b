// How long a call took to end, in the words of the table: coarse, so that a busy machine makes no other table.

/** How long a call is watched, in milliseconds after the event; one that has not ended by then `waits`. */
export const TEST_TIMEOUT_MS = 66_000;
/** Enough for all but the longest default, which is 60 s: that is seen in Chromium alone. */
export const SHORT_TEST_TIMEOUT_MS = 13_000;

const classes = [
  { says: "at once", within: 1_500 },
  { says: "in 10 s", within: 11_500 },
  { says: "in 60 s", within: TEST_TIMEOUT_MS },
];

export function speed({ state, ms }) {
  if (state !== "rejected") return state;
  return classes.find(({ within }) => ms <= within).says;
}

/** The result of an action that is watched for the short time. */
export function seenInShort(says) {
  return says === "in 60 s" ? "waits" : says;
}

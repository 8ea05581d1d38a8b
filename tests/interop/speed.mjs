// Converts the time that a call took to end into a text of the table. The classes of times are wide, so that a busy
// machine does not change the table.

/** The milliseconds after the event for which a call is observed in Chromium. A call that ends later "waits". */
export const OBSERVED_MS = 66_000;
/** The milliseconds for which a call is observed in other engines. Of the classes below, only "in 60 s" is longer. */
export const SHORT_OBSERVED_MS = 13_000;

const classes = [
  { says: "at once", within: 1_500 },
  { says: "in 10 s", within: 11_500 },
  { says: "in 60 s", within: OBSERVED_MS },
];

/** Returns the class of the time after which a call was rejected. If it was not rejected, returns its state. */
export function speed({ state, ms }) {
  if (state !== "rejected") return state;
  return classes.find(({ within }) => ms <= within).says;
}

/** Returns the expected text for a call that is observed for `SHORT_OBSERVED_MS`. */
export function seenInShort(says) {
  return says === "in 60 s" ? "waits" : says;
}

import { compact } from "portway-inspector";

/** The characters that have a meaning in a regular expression. */
const SYNTAX = /[\\^$.*+?()[\]{}|/]/g;
const PRINTABLE_ASCII = /[!-~]/;
/** The letters of ASCII that also match another character if case is ignored: the Kelvin sign, and the long s. */
const MATCHES_OTHERS = /[ks]/i;
/** A character is rare if the texts that contain it have less than this share of the total length of the sample. */
const MAX_SHARE = 0.5;

/**
 * Tests whether texts contain a substring. The test ignores case, and compares compact JSON. Most texts without the
 * substring also lack its rarest character. So the test first searches for this character, in lower and in upper case.
 * This search takes a fifth of the time of a regular expression.
 */
export class SubstringMatcher {
  readonly #expression: RegExp;
  /** The rarest character in lower and in upper case. A text that contains neither does not match. May be empty. */
  readonly #rare: readonly string[];

  /** `sample` contains some of the texts that will be tested. It determines the rarest character. */
  constructor(substring: string, sample: readonly string[]) {
    this.#expression = new RegExp(substring.replace(SYNTAX, "\\$&"), "iu");
    this.#rare = rarestCharacter(substring, sample);
  }

  /** `isSpaced` is whether the text has whitespace between its tokens. */
  test(text: string, isSpaced: boolean): boolean {
    if (this.#rare.length && !hasAny(text, this.#rare)) return false;
    return this.#expression.test(isSpaced ? compact(text) : text);
  }
}

function hasAny(text: string, characters: readonly string[]): boolean {
  for (const character of characters) if (text.includes(character)) return true;
  return false;
}

/**
 * Returns the rarest character of `substring` in lower and in upper case, or an empty array if no character is
 * rare.
 */
function rarestCharacter(substring: string, sample: readonly string[]): readonly string[] {
  let rare: readonly string[] = [];
  let least = MAX_SHARE * sample.reduce((sum, { length }) => sum + length, 0);
  for (const character of new Set(substring)) {
    if (!PRINTABLE_ASCII.test(character) || MATCHES_OTHERS.test(character)) continue;
    const cases = [...new Set([character.toLowerCase(), character.toUpperCase()])];
    const length = sample.reduce((sum, text) => (hasAny(text, cases) ? sum + text.length : sum), 0);
    if (length < least) [rare, least] = [cases, length];
  }
  return rare;
}

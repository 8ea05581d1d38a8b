// Formats values as short texts for people.

/** Returns the time of day, for example `12:34:56.789`. `at` is in microseconds since 1970. */
export function clock(at: number): string {
  const date = new Date(at / 1000);
  if (Number.isNaN(date.getTime())) return "–";
  // The functions of Intl are many times slower, and each drawn row has a time.
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits);
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}

/** Returns the date and the time of day in the time zone of the user. */
export function dateAndClock(at: number): string {
  const date = new Date(at / 1000);
  return Number.isNaN(date.getTime()) ? "–" : `${date.toLocaleDateString("en-CA")} ${clock(at)}`;
}

/** Returns a duration in microseconds with its unit. */
export function duration(micros: number | null): string {
  if (micros === null) return "–";
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 10_000) return `${(micros / 1000).toFixed(2)} ms`;
  if (micros < 1_000_000) return `${(micros / 1000).toFixed(micros < 100_000 ? 1 : 0)} ms`;
  if (micros < 60_000_000) return `${(micros / 1_000_000).toFixed(2)} s`;
  const seconds = Math.floor(micros / 1_000_000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Returns a size in bytes with its unit. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns a number with narrow spaces between its groups of three digits. */
export function count(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, "\u202f");
}

/** Returns a number with a noun in its singular or plural. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * Returns a text with its invisible characters as escapes, for example `\u202e`. These are controls, marks of direction
 * and lone surrogates: they could hide a part of the text, or change its order.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

// The joiners U+200C and U+200D are part of emoji and of some scripts.
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The characters that CodeMirror must show as dots, in addition to those that CodeMirror shows as dots by default. */
export const INVISIBLE_IN_EDITOR = /[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

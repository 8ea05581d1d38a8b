// Checks the options of the application, and the values that its functions return.

import { runUserCode } from "../driver/error-reporter.js";

/**
 * Throws a `TypeError` if `value` has a wrong type, and a `RangeError` if a number is less than `least`. `text`
 * describes the accepted values in the error. A type is accepted if `text` contains its name. The error also contains
 * `path`, the name of the value. The error never contains an object or a string, because the value may be secret.
 */
export function checkValue(path, value, text, least) {
  const isConstant = value === null || typeof value === "boolean";
  const type = isConstant ? `${value}` : Array.isArray(value) ? "array" : value?.then ? "promise" : typeof value;
  const isType = text.includes(type);
  if (isType && (type !== "number" || value >= least)) return;
  const range = least === undefined ? "" : `, at least ${least}`;
  throw new (isType ? RangeError : TypeError)(`${path} must be ${text}${range}, got ${isType ? value : type}`);
}

/**
 * Checks an object of options. For each option, `table` has the parameters `text` and `least` of `checkValue`, or 0 if
 * the caller checks the option. `prefix` precedes the names in errors. Options that are undefined are not checked.
 */
export function checkOptions(options, table, prefix = "") {
  for (const name in options) {
    if (!Object.hasOwn(table, name))
      throw new TypeError(`unknown option "${prefix}${name}"; expected one of ${Object.keys(table)}`);
    if (table[name] && options[name] !== undefined) checkValue(prefix + name, options[name], ...table[name]);
  }
}

/**
 * Calls the function `name` of the application, and returns its result. If the function throws, or if `checkValue`
 * refuses its result, reports the error and returns `fallback`. Also reports the rejection of a promise.
 */
export function resultOf(name, run, fallback, report, text, least) {
  let result = fallback;
  runUserCode(() => (result = run()), report);
  runUserCode(() => {
    checkValue(`the result of ${name}`, result, text, least);
    fallback = result;
  }, report);
  return fallback;
}

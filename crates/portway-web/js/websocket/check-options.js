// Checks the options of the application, and the values that its functions return.

/**
 * Throws a `TypeError` if the type of `value` is not in `text`, and a `RangeError` if a number is less than `least`.
 * The error contains `path`, the name of the value. It does not contain objects and strings, since they may be secret.
 */
export function checkValue(path, value, text, least) {
  const isConstant = value === null || typeof value === "boolean";
  const type = isConstant ? `${value}` : Array.isArray(value) ? "array" : typeof value;
  const isType = text.includes(type);
  if (isType && (type !== "number" || value >= least)) return;
  const range = least === undefined ? "" : `, at least ${least}`;
  throw new (isType ? RangeError : TypeError)(`${path} must be ${text}${range}, got ${isType ? value : type}`);
}

/**
 * Checks an object of options. `table` contains for each option the parameters `text` and `least` of `checkValue`.
 * `prefix` precedes the names in errors. Options that are undefined are not checked.
 */
export function checkOptions(options, table, prefix = "") {
  for (const name in options) {
    if (!Object.hasOwn(table, name))
      throw new TypeError(`unknown option "${prefix}${name}"; expected one of ${Object.keys(table)}`);
    if (options[name] !== undefined) checkValue(prefix + name, options[name], ...table[name]);
  }
}

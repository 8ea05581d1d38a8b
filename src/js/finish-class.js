// What the classes of the API have in common.

import { define } from "../web/errors.js";

/**
 * Adds what every class of the API has. Each class is finished by a pure call, since bundlers keep code that changes a
 * class at the top of a module.
 */
export function finishClass(Class) {
  const { prototype } = Class;
  // `using` needs a symbol that not every engine has yet.
  if (Symbol.dispose !== undefined) prototype[Symbol.dispose] = prototype.destroy;
  // Vue puts no proxy around an object with this member, in a `ref` or `reactive`. Behind a proxy, private members are out of
  // reach.
  define(prototype, "__v_skip", true);
  return Class;
}

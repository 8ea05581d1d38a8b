// The members that all classes of the API share.

import { define } from "./driver/errors.js";

/**
 * Adds the shared members to a class and returns it. The call is marked as pure, because bundlers keep code that
 * changes a class at the top of a module.
 * @template {new (...args: any[]) => { destroy(): void }} C
 * @param {C} Class
 */
export function finishClass(Class) {
  const { prototype } = Class;
  // `using` needs a symbol that some engines lack.
  if (Symbol.dispose !== undefined) prototype[Symbol.dispose] = prototype.destroy;
  // Vue does not wrap an object with this member in a proxy (`ref`, `reactive`). A proxy cannot access private members.
  define(prototype, "__v_skip", true);
  return Class;
}

// The members that all classes of the API share.

import { define } from "./driver/errors.js";

/**
 * Adds the shared members to a class and returns the class. The callers mark the call as pure, so that a bundler can
 * remove an unused class. Otherwise the bundler would keep the class, because the call may have side effects.
 * @template {new (...args: any[]) => { destroy(): void }} C
 * @param {C} Class
 */
export function finishClass(Class) {
  const { prototype } = Class;
  // `using` calls the member `Symbol.dispose`. Some engines lack this symbol.
  if (Symbol.dispose !== undefined) prototype[Symbol.dispose] = prototype.destroy;
  // `ref` and `reactive` of Vue do not wrap an object with this member in a proxy. Methods that are called on a proxy
  // cannot access private members.
  define(prototype, "__v_skip", true);
  return Class;
}

/** Returns the time in microseconds since 1970-01-01 UTC, as records have it. It does not go back within a page. */
export function nowMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

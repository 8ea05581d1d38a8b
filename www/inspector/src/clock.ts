/** Returns the time in microseconds since 1970-01-01 UTC, as in records. Within a page, the time never decreases. */
export function nowMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

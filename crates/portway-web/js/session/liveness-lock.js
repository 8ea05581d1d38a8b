// A Web Lock that each side of a session holds. The browser releases it when the side ends, for whatever reason.

const nameOf = (id) => `portway:${id}`;

/**
 * Requests a lock. Returns undefined without Web Locks, or where this document may not use them.
 * @param {Parameters<LockManager["request"]>} args
 */
async function request(...args) {
  try {
    return await navigator.locks.request(...args);
  } catch {
    // The signal was aborted, or the browser denied the request.
  }
}

/**
 * Holds the lock of this side until the signal is aborted. Resolves to whether the lock is held: false without Web
 * Locks.
 */
export function holdLock(id, signal) {
  return new Promise((resolve) => {
    const hold = () => new Promise((release) => (resolve(true), signal.addEventListener("abort", release)));
    request(nameOf(id), { signal }, hold).then(() => resolve(false));
  });
}

/**
 * Watches the lock that the peer reports to hold. Resolves once it is known whether this side sees that lock. If the
 * lock is free at once, the peer is of another origin. But if this side `isSure` to share locks with the peer, the peer
 * has released it.
 */
export async function watchLock(id, signal, isSure, onSeen, onReleased) {
  const isSeen = await request(nameOf(id), { ifAvailable: true }, (lock) => lock === null);
  if (signal.aborted || isSeen === undefined) return;
  if (isSeen) onSeen();
  else if (!isSure) return;
  request(nameOf(id), { signal }, () => true).then((isFree) => isFree && onReleased());
}

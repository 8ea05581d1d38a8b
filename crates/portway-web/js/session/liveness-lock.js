// The Web Locks of a session. Each side holds a lock of its own, and watches the lock of its peer. When the document or
// worker of a side ends, for any reason, the browser releases the lock of that side.

const lockName = (id) => `portway:${id}`;

/**
 * Requests a lock. Resolves to the result of the callback. Resolves to undefined if the signal is aborted, or if this
 * document cannot use Web Locks.
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
 * Holds the lock of this side until the signal is aborted. Resolves to true when the lock is held, and to false if it
 * cannot be held, for example without Web Locks.
 */
export function holdLock(id, signal) {
  return new Promise((resolve) => {
    const hold = () => new Promise((release) => (resolve(true), signal.addEventListener("abort", release)));
    request(lockName(id), { signal }, hold).then(() => resolve(false));
  });
}

/**
 * Watches the lock that the peer has named. Calls `onHeld` if the lock is held now, and `onReleased` when it becomes
 * free. Resolves when it is known whether the lock is held now. If `sharesLocks` is true, this realm and the peer
 * certainly share locks. In this case, a lock that is free now was released by the peer. If `sharesLocks` is false, the
 * peer may have named a lock of another origin, so a lock that is free now is not watched.
 */
export async function watchLock(id, signal, sharesLocks, onHeld, onReleased) {
  const isHeldByPeer = await request(lockName(id), { ifAvailable: true }, (lock) => lock === null);
  if (signal.aborted || isHeldByPeer === undefined) return;
  if (isHeldByPeer) onHeld();
  else if (!sharesLocks) return;
  request(lockName(id), { signal }, () => true).then((isFree) => isFree && onReleased());
}

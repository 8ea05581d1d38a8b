// The declarations of `portway/wipc/node`: spawns guests as child processes, or makes this process a guest.

import type { BuiltInTransport } from "./transports.js";
import type { WipcChannel, WipcChannelHooks, WipcChannelOptions, WipcPayload } from "./wipc.js";

/** Options of `spawnGuest`. */
export interface SpawnGuestOptions extends Omit<WipcChannelOptions, "role"> {
  /** The working directory of the guest. Default: the working directory of this process. */
  cwd?: string | URL | undefined;
  /** The environment of the guest. Default: the environment of this process. */
  env?: Record<string, string | undefined> | undefined;
  /** Kills the guest and its descendants when aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * A running guest, which leads its own process group. The guest and its descendants end when this process exits, or
 * when a signal ends this process. If the application listens to that signal, they end when the application calls
 * `process.exit`. If SIGKILL ends this process, they end only if they react to the end of their input. A descendant
 * that has left the process group, and whose parent has ended, continues to run.
 */
export interface WipcGuest {
  /** The channel of the guest. Once the guest has exited, pending calls end, and frames cannot be sent. */
  readonly channel: WipcChannel;
  readonly pid: number;
  /** Resolves once the process has exited, with its status or the signal that killed it. Does not reject. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Returns `channel.transport()`. */
  transport(): BuiltInTransport;
  /**
   * Sends CLOSE, ends the input of the guest, and waits until the guest and its descendants have ended. After `timeout`
   * ms, they receive SIGTERM, and 500 ms later SIGKILL. Default of `timeout`: `closeTimeout`, which is 2 000 by
   * default; 0 = no limit. `closeTimeout` also applies when either side closes the channel in another way. If a guest
   * exits by itself, its remaining descendants receive SIGTERM 250 ms later.
   */
  close(options?: { payload?: WipcPayload | null | undefined; timeout?: number | undefined }): WipcGuest["exited"];
  /** Sends a signal to the guest and its descendants. Default `"SIGKILL"`. Returns whether any process received it. */
  kill(signal?: string): boolean;
}

/**
 * Starts a program as a guest, without a shell. Its standard input and output carry frames. The guest inherits the
 * standard error of this process. Rejects if the program cannot be started.
 */
export function spawnGuest(command: string, args?: readonly string[], options?: SpawnGuestOptions): Promise<WipcGuest>;

/** Options of `guestChannel`. */
export interface GuestChannelOptions extends Omit<WipcChannelOptions, "role" | "onClose"> {
  /** Called when CLOSE arrives. The process exits once the returned promise has settled. */
  onClose?: WipcChannelHooks["onClose"];
  /**
   * The longest time for work after CLOSE or the end of input, in ms, before the process exits. Default 5 000; 0 = no
   * limit.
   */
  exitTimeout?: number | undefined;
}

/**
 * Makes this process a guest, on its standard input and output. After CLOSE or the end of input, the process exits with
 * `process.exitCode` once requests are answered and the promise of `onClose` has settled. If the guest itself has
 * called `close()`, the process exits at once. Text that the process prints on standard output reaches the host as
 * passthrough. Each frame is one write. Throws an `Error` if `guestChannel` is called twice.
 */
export function guestChannel(options?: GuestChannelOptions): WipcChannel;

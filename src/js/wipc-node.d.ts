// What `import … from "portway/wipc/node"` gives: guests as child processes, and being one.

import type { BuiltInTransport } from "./api.js";
import type { WipcChannel, WipcChannelHooks, WipcChannelOptions, WipcPayload } from "./wipc.js";

/** Options of a guest. */
export interface SpawnGuestOptions extends Omit<WipcChannelOptions, "role"> {
  /** The folder that it runs in. Default: that of this process. */
  cwd?: string | URL | undefined;
  /** Its environment. Default: that of this process. */
  env?: Record<string, string | undefined> | undefined;
  /** When aborted, kills the guest and its descendants. */
  signal?: AbortSignal | undefined;
}

/**
 * A running guest. It leads its own process group. It and its descendants end with this process, unless this process is killed
 * by SIGKILL and they ignore the end of their input. A signal that ends this process ends them, too. If the application listens
 * to that signal, they end when it calls `process.exit`. A daemon that has left its group and its parent stays.
 */
export interface WipcGuest {
  /** Frames to and from it. Once it has exited, calls that wait end at once, and nothing can be sent. */
  readonly channel: WipcChannel;
  readonly pid: number;
  /** Resolves, and never rejects, once the process has exited: with its status, or the signal that has killed it. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** `channel.transport()`. */
  transport(): BuiltInTransport;
  /**
   * Sends CLOSE and ends its input, and waits until the guest and its descendants have ended. After `timeout` ms they get
   * SIGTERM, and 500 ms later SIGKILL. Default: `closeTimeout`, which is 2 000; 0 is for ever. That time also applies when the
   * channel is closed in another way, by either side. If a guest exits by itself, its remaining descendants get SIGTERM 250 ms
   * later.
   */
  close(options?: { payload?: WipcPayload | null | undefined; timeout?: number | undefined }): WipcGuest["exited"];
  /**
   * Sends a signal to the guest and its descendants at once. Default `"SIGKILL"`. Returns whether there was a process to
   * signal.
   */
  kill(signal?: string): boolean;
}

/**
 * Starts a program as a guest: its standard input and output carry frames, its standard error is that of this process. Rejects
 * if it cannot be started. No shell is involved.
 */
export function spawnGuest(command: string, args?: readonly string[], options?: SpawnGuestOptions): Promise<WipcGuest>;

/** Options of a guest, from inside. */
export interface GuestChannelOptions extends Omit<WipcChannelOptions, "role" | "onClose"> {
  /** CLOSE has come. The process exits once the promise that it returns has settled. */
  onClose?: WipcChannelHooks["onClose"];
  /** How long work may go on after CLOSE or the end of input, in ms; then the process exits. Default 5 000; 0 is for ever. */
  exitTimeout?: number | undefined;
}

/**
 * Makes this process a guest, on its standard input and output. After CLOSE or the end of input it exits, once requests are
 * answered and `onClose` is done, with `process.exitCode`; after its own `close()` at once. What it prints on standard output
 * is passthrough, to the host; each frame is written in one piece. An `Error` the second time.
 */
export function guestChannel(options?: GuestChannelOptions): WipcChannel;

// What wasm says is to be done.

import {
  ARGUMENT_SHIFT,
  CLOSED,
  ELEMENT,
  FAULT,
  HAS_MORE,
  IGNORED,
  INVALID,
  NEXT,
  NEXT_REPLY,
  NOTIFICATION,
  OPERATION,
  PEER_ERROR,
  REJECT,
  REPLY_BATCH,
  REQUEST,
  RESOLVE,
  TIMED_OUT,
  UNREADABLE,
  endsCall,
} from "./wasm-abi.js";
import { decodeId } from "./envelope.js";
import { deserializeError } from "./errors.js";
import { readFault } from "./wasm-callbacks.js";

export class OutputExecutor {
  /** While it is true, no replies go out: they would go to somebody else. */
  suppressReplies = false;
  #link;
  #wasm;
  #pendingCalls;
  #dispatcher;
  #sendQueue;
  /** The ids of calls that have timed out. The peer is asked to cancel them after all outputs are done. */
  #timedOut = [];

  constructor(link, wasm, pendingCalls, dispatcher, sendQueue) {
    this.#link = link;
    this.#wasm = wasm;
    this.#pendingCalls = pendingCalls;
    this.#dispatcher = dispatcher;
    this.#sendQueue = sendQueue;
  }

  /**
   * Carries out the outputs of wasm. All of them are read before anything is done, since what is done may lead back
   * here; and calls end before handlers run, since a handler's own call may get the slot of one that has ended.
   */
  execute(output, message, batch) {
    this.#applyAll(output, message, batch);
    if (this.#timedOut.length === 0) return;
    // Only now: a transport may deliver at once, and a new call may get the slot of a call that has not ended yet.
    for (const id of this.#timedOut.splice(0)) this.#link.sendIfConnected("$/cancelRequest", { id });
  }

  #applyAll(output, message, batch) {
    const operation = output & OPERATION;
    const argument = output >>> ARGUMENT_SHIFT;
    const subject = this.#subject(operation, argument, message, batch);
    if ((output & HAS_MORE) === 0) return this.#apply(operation, argument, subject, batch);
    const outputs = [[operation, argument, subject, batch]];
    for (let rest = output; (rest & HAS_MORE) !== 0; ) {
      rest = this.#wasm.run(NEXT);
      const operation = rest & OPERATION;
      const argument = rest >>> ARGUMENT_SHIFT;
      outputs.push([operation, argument, this.#subject(operation, argument, message, batch), batch]);
    }
    for (const output of outputs) if (endsCall(output[0])) this.#apply(...output);
    for (const output of outputs) if (!endsCall(output[0])) this.#apply(...output);
  }

  /** What an operation is about, as far as the word does not hold it. */
  #subject(operation, argument, message, batch) {
    switch (operation) {
      case FAULT:
        return this.#faultReply(message, batch?.ids);
      case REPLY_BATCH:
        return Array.from({ length: argument }, () => {
          const output = this.#wasm.run(NEXT_REPLY);
          const isFault = (output & OPERATION) === FAULT;
          return isFault
            ? this.#faultReply(message, batch?.ids)
            : this.#dispatcher.takeBatchReply(output >>> ARGUMENT_SHIFT);
        }).reverse();
      default:
        return batch?.elements === undefined ? message : batch.elements[this.#wasm.run(ELEMENT)];
    }
  }

  /** The reply with an error of the library's own. */
  #faultReply(message, ids = [message.id]) {
    const { error, id } = readFault(this.#wasm);
    return { message: { jsonrpc: "2.0", error, id: decodeId(id, ids) } };
  }

  #apply(operation, argument, subject, batch) {
    const calls = this.#pendingCalls;
    switch (operation) {
      case RESOLVE:
        return calls.resolve(argument, subject.result);
      case REJECT:
        return calls.reject(argument, deserializeError(subject.error));
      case REQUEST:
        return this.#dispatcher.dispatch(argument, subject, batch);
      case NOTIFICATION:
        return this.#dispatcher.dispatchNotification(subject);
      case FAULT:
        return this.#sendQueue.send(subject.message);
      case REPLY_BATCH:
        if (this.suppressReplies) return;
        return this.#sendQueue.sendBatch(subject.filter((reply) => reply !== undefined));
      case TIMED_OUT:
        this.#timedOut.push(calls.idOf(argument));
        return calls.reject(argument, calls.createError(argument, "timeout"));
      case CLOSED:
        return calls.rejectDestroyed(argument);
      case INVALID:
        return calls.rejectInvalid(argument);
      case UNREADABLE:
        return calls.rejectUnreadable(argument, subject.error);
      case PEER_ERROR:
        return this.#link.report(deserializeError(subject.error));
      case IGNORED:
        this.#link.ignored++;
    }
  }
}

// Executes the outputs of wasm.

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
  /** While true, no replies are sent, because they would reach the peer of the next session. */
  suppressReplies = false;
  #link;
  #wasm;
  #pendingCalls;
  #dispatcher;
  #sendQueue;
  /** The ids and methods of calls that have timed out. They are cancelled at the peer after all outputs. */
  #timedOut = [];

  constructor(link, wasm, pendingCalls, dispatcher, sendQueue) {
    this.#link = link;
    this.#wasm = wasm;
    this.#pendingCalls = pendingCalls;
    this.#dispatcher = dispatcher;
    this.#sendQueue = sendQueue;
  }

  /**
   * Executes the outputs of wasm. All outputs are read before the first one is executed, since its execution may call
   * this method again. The outputs that end calls are executed first, because a handler may start a call that gets the
   * slot of an ended call.
   */
  execute(output, message, batch) {
    this.#applyAll(output, message, batch);
    if (this.#timedOut.length === 0) return;
    // Cancellations are sent last. If a transport delivers them at once, a new call may get the slot of a call that has
    // timed out.
    for (const [id, method] of this.#timedOut.splice(0)) this.#link.cancelAtPeer(id, method, "timeout");
  }

  #applyAll(output, message, batch) {
    const operation = output & OPERATION;
    const argument = output >>> ARGUMENT_SHIFT;
    const operand = this.#operand(operation, argument, message, batch);
    if ((output & HAS_MORE) === 0) return this.#apply(operation, argument, operand, batch);
    const outputs = [[operation, argument, operand, batch]];
    for (let rest = output; (rest & HAS_MORE) !== 0; ) {
      rest = this.#wasm.run(NEXT);
      const operation = rest & OPERATION;
      const argument = rest >>> ARGUMENT_SHIFT;
      outputs.push([operation, argument, this.#operand(operation, argument, message, batch), batch]);
    }
    for (const output of outputs) if (endsCall(output[0])) this.#apply(...output);
    for (const output of outputs) if (!endsCall(output[0])) this.#apply(...output);
  }

  /** Returns the message or the replies of an operation, which the output itself does not contain. */
  #operand(operation, argument, message, batch) {
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

  /** Returns a reply with an error that wasm has chosen. */
  #faultReply(message, ids = [message.id]) {
    const { error, id } = readFault(this.#wasm);
    return { message: { jsonrpc: "2.0", error, id: decodeId(id, ids) } };
  }

  #apply(operation, argument, operand, batch) {
    const calls = this.#pendingCalls;
    switch (operation) {
      case RESOLVE:
        return calls.resolve(argument, operand.result);
      case REJECT:
        return calls.reject(argument, deserializeError(operand.error));
      case REQUEST:
        return this.#dispatcher.dispatch(argument, operand, batch);
      case NOTIFICATION:
        return this.#dispatcher.dispatchNotification(operand);
      case FAULT:
        return this.#sendQueue.send(operand.message);
      case REPLY_BATCH:
        if (this.suppressReplies) return;
        return this.#sendQueue.sendBatch(operand.filter(Boolean));
      case TIMED_OUT:
        this.#timedOut.push([calls.idOf(argument), calls.methodOf(argument)]);
        return calls.fail(argument, "timeout");
      case CLOSED:
        return calls.rejectDestroyed(argument);
      case INVALID:
        return calls.fail(argument, "invalid-response", "response has neither result nor error");
      case UNREADABLE: {
        const { error } = operand;
        return calls.fail(argument, "unreadable-response", `response cannot be read (${error.message})`, error);
      }
      case PEER_ERROR:
        return this.#link.report(deserializeError(operand.error));
      case IGNORED:
        this.#link.ignored++;
    }
  }
}

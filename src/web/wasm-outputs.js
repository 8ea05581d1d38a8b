// What wasm says is to be done.

import { ELEMENT, NEXT, NEXT_REPLY } from "./wasm-commands.js";
import { idOf } from "./envelope.js";
import { fromWire } from "./errors.js";
import { takeFault } from "./wasm-callbacks.js";
import {
  ARGUMENT_SHIFT,
  CLOSED,
  FAULT,
  IGNORED,
  INVALID,
  MORE,
  NOTIFICATION,
  OPERATION,
  PEER_ERROR,
  REJECT,
  REPLY_BATCH,
  REQUEST,
  RESOLVE,
  TIMED_OUT,
  UNREADABLE,
  isEnd,
} from "./wasm-output.js";

export class Outputs {
  /** While it is true, no replies go out: they would go to somebody else. */
  isMuted = false;
  #link;
  #core;
  #calls;
  #service;
  #outbox;
  /** The ids of calls that have timed out. The peer is asked to cancel them after all outputs are done. */
  #timedOut = [];

  constructor(link, core, calls, service, outbox) {
    this.#link = link;
    this.#core = core;
    this.#calls = calls;
    this.#service = service;
    this.#outbox = outbox;
  }

  /**
   * Carries out the outputs of wasm. All of them are read before anything is done, since what is done may lead back
   * here; and calls end before handlers run, since a handler's own call may get the slot of one that has ended.
   */
  perform(word, message, batch) {
    this.#actAll(word, message, batch);
    if (this.#timedOut.length === 0) return;
    // Only now: a transport may deliver at once, and a new call may get the slot of a call that has not ended yet.
    for (const id of this.#timedOut.splice(0)) this.#link.tell("$/cancelRequest", { id });
  }

  #actAll(word, message, batch) {
    const operation = word & OPERATION;
    const argument = word >>> ARGUMENT_SHIFT;
    const subject = this.#subject(operation, argument, message, batch);
    if ((word & MORE) === 0) return this.#act(operation, argument, subject, batch);
    const outputs = [[operation, argument, subject, batch]];
    for (let rest = word; (rest & MORE) !== 0; ) {
      rest = this.#core.run(NEXT);
      const operation = rest & OPERATION;
      const argument = rest >>> ARGUMENT_SHIFT;
      outputs.push([operation, argument, this.#subject(operation, argument, message, batch), batch]);
    }
    for (const output of outputs) if (isEnd(output[0])) this.#act(...output);
    for (const output of outputs) if (!isEnd(output[0])) this.#act(...output);
  }

  /** What an operation is about, as far as the word does not hold it. */
  #subject(operation, argument, message, batch) {
    switch (operation) {
      case FAULT:
        return this.#fault(message, batch?.ids);
      case REPLY_BATCH:
        return Array.from({ length: argument }, () => {
          const word = this.#core.run(NEXT_REPLY);
          const isFault = (word & OPERATION) === FAULT;
          return isFault ? this.#fault(message, batch?.ids) : this.#service.unhold(word >>> ARGUMENT_SHIFT);
        }).reverse();
      default:
        return batch?.elements === undefined ? message : batch.elements[this.#core.run(ELEMENT)];
    }
  }

  /** The reply with an error of the library's own. */
  #fault(message, ids = [message.id]) {
    const { error, id } = takeFault(this.#core);
    return { message: { jsonrpc: "2.0", error, id: idOf(id, ids) } };
  }

  #act(operation, argument, subject, batch) {
    const calls = this.#calls;
    switch (operation) {
      case RESOLVE:
        return calls.resolve(argument, subject.result);
      case REJECT:
        return calls.reject(argument, fromWire(subject.error));
      case REQUEST:
        return this.#service.serve(argument, subject, batch);
      case NOTIFICATION:
        return this.#service.notified(subject);
      case FAULT:
        return this.#outbox.send(subject.message);
      case REPLY_BATCH:
        if (this.isMuted) return;
        return this.#outbox.sendTogether(subject.filter((reply) => reply !== undefined));
      case TIMED_OUT:
        this.#timedOut.push(calls.idOf(argument));
        return calls.reject(argument, calls.failure(argument, "timeout"));
      case CLOSED:
        return calls.destroyed(argument);
      case INVALID:
        return calls.invalid(argument);
      case UNREADABLE:
        return calls.unreadable(argument, subject.error);
      case PEER_ERROR:
        return this.#link.report(fromWire(subject.error));
      case IGNORED:
        this.#link.ignored++;
    }
  }
}

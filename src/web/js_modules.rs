//! The JavaScript modules that only other modules import.
//!
//! wasm-bindgen copies only the files that an `extern` block names, so each module is named here. The blocks import
//! nothing into the wasm, since Rust does not call their functions.

use wasm_bindgen::prelude::wasm_bindgen;

macro_rules! include_js {
    ($($module:literal as $name:ident),+ $(,)?) => {$(
        #[wasm_bindgen(module = $module)]
        #[allow(dead_code, reason = "the block only names the file")]
        extern "C" {
            fn $name();
        }
    )+};
}

include_js! {
    "/src/js/early.js" as early,
    "/src/js/finish-class.js" as finish_class,
    "/src/web/boundaries.js" as boundaries,
    "/src/web/clock.js" as clock,
    "/src/web/columns.js" as columns,
    "/src/web/connect-target.js" as connect_target,
    "/src/web/early-buffer.js" as early_buffer,
    "/src/web/envelope.js" as envelope,
    "/src/web/error-reporter.js" as error_reporter,
    "/src/web/errors.js" as errors,
    "/src/web/event-listeners.js" as event_listeners,
    "/src/web/handshake.js" as handshake,
    "/src/web/incoming-message.js" as incoming_message,
    "/src/web/heartbeat.js" as heartbeat,
    "/src/web/limit-values.js" as limit_values,
    "/src/web/limits.js" as limits,
    "/src/web/link.js" as link,
    "/src/web/liveness-lock.js" as liveness_lock,
    "/src/web/log-error.js" as log_error,
    "/src/web/message-receiver.js" as message_receiver,
    "/src/web/messages.js" as messages,
    "/src/web/origin.js" as origin,
    "/src/web/pending-calls.js" as pending_calls,
    "/src/web/profile.js" as profile,
    "/src/web/queue-task.js" as queue_task,
    "/src/web/receive-queue.js" as receive_queue,
    "/src/web/request-context.js" as request_context,
    "/src/web/request-dispatcher.js" as request_dispatcher,
    "/src/web/send-queue.js" as send_queue,
    "/src/web/session-queue.js" as session_queue,
    "/src/web/session-states.js" as session_states,
    "/src/web/session-transport.js" as session_transport,
    "/src/web/shared-params.js" as shared_params,
    "/src/web/snapshot.js" as snapshot,
    "/src/web/stream-consumer.js" as stream_consumer,
    "/src/web/stream-producer.js" as stream_producer,
    "/src/web/stream-protocol.js" as stream_protocol,
    "/src/web/timers.js" as timers,
    "/src/web/transfer-list.js" as transfer_list,
    "/src/web/transports.js" as transports,
    "/src/web/unreadable-timer.js" as unreadable_timer,
    "/src/web/user-code.js" as user_code,
    "/src/web/virtual-port.js" as virtual_port,
    "/src/web/wasm-abi.js" as wasm_abi,
    "/src/web/wasm-callbacks.js" as wasm_callbacks,
    "/src/web/wasm-instance.js" as wasm_instance,
    "/src/web/wasm-outputs.js" as wasm_outputs,
}

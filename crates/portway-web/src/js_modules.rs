//! The JavaScript modules that only other JavaScript modules import.
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
    "/js/transport/early.js" as early,
    "/js/driver/boundaries.js" as boundaries,
    "/js/driver/clock.js" as clock,
    "/js/driver/columns.js" as columns,
    "/js/session/connect-target.js" as connect_target,
    "/js/transport/early-buffer.js" as early_buffer,
    "/js/driver/envelope.js" as envelope,
    "/js/driver/error-reporter.js" as error_reporter,
    "/js/driver/errors.js" as errors,
    "/js/transport/event-listeners.js" as event_listeners,
    "/js/session/handshake.js" as handshake,
    "/js/driver/incoming-message.js" as incoming_message,
    "/js/transport/heartbeat.js" as heartbeat,
    "/js/driver/limit-values.js" as limit_values,
    "/js/driver/limits.js" as limits,
    "/js/driver/link.js" as link,
    "/js/session/liveness-lock.js" as liveness_lock,
    "/js/driver/log-error.js" as log_error,
    "/js/driver/mcp-dialect.js" as mcp_dialect,
    "/js/driver/message-receiver.js" as message_receiver,
    "/js/driver/messages.js" as messages,
    "/js/session/open-session.js" as open_session,
    "/js/transport/origin.js" as origin,
    "/js/driver/pending-calls.js" as pending_calls,
    "/js/driver/profile.js" as profile,
    "/js/driver/queue-task.js" as queue_task,
    "/js/transport/receive-queue.js" as receive_queue,
    "/js/driver/request-context.js" as request_context,
    "/js/driver/request-dispatcher.js" as request_dispatcher,
    "/js/driver/send-queue.js" as send_queue,
    "/js/session/session-queue.js" as session_queue,
    "/js/session/session-states.js" as session_states,
    "/js/session/session-transport.js" as session_transport,
    "/js/driver/shared-params.js" as shared_params,
    "/js/driver/snapshot.js" as snapshot,
    "/js/driver/stream-consumer.js" as stream_consumer,
    "/js/driver/stream-producer.js" as stream_producer,
    "/js/driver/stream-protocol.js" as stream_protocol,
    "/js/driver/timers.js" as timers,
    "/js/driver/transfer-list.js" as transfer_list,
    "/js/transport/transports.js" as transports,
    "/js/driver/unreadable-timer.js" as unreadable_timer,
    "/js/session/virtual-port.js" as virtual_port,
    "/js/driver/wasm-abi.js" as wasm_abi,
    "/js/driver/wasm-callbacks.js" as wasm_callbacks,
    "/js/driver/wasm-instance.js" as wasm_instance,
    "/js/driver/wasm-outputs.js" as wasm_outputs,
}

#[cfg(feature = "exports")]
include_js! {
    "/js/finish-class.js" as finish_class,
}

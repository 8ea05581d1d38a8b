//! The modules of JavaScript that only other modules import.
//!
//! Beside the wasm there are those files that an `extern` block names, and no others; so each is named here. Nothing is
//! imported by it, since nothing of it is used.

use wasm_bindgen::prelude::wasm_bindgen;

macro_rules! ship {
    ($($module:literal as $name:ident),+ $(,)?) => {$(
        #[wasm_bindgen(module = $module)]
        #[allow(dead_code, reason = "what is named here is not called")]
        extern "C" {
            fn $name();
        }
    )+};
}

ship! {
    "/src/js/early.js" as early,
    "/src/web/boundaries.js" as boundaries,
    "/src/web/clock.js" as clock,
    "/src/web/columns.js" as columns,
    "/src/web/connect-target.js" as connect_target,
    "/src/web/early-buffer.js" as early_buffer,
    "/src/web/envelope.js" as envelope,
    "/src/web/errors.js" as errors,
    "/src/web/event-listeners.js" as event_listeners,
    "/src/web/handshake.js" as handshake,
    "/src/web/heartbeat.js" as heartbeat,
    "/src/web/later.js" as later,
    "/src/web/limit-values.js" as limit_values,
    "/src/web/limits.js" as limits,
    "/src/web/link.js" as link,
    "/src/web/liveness-lock.js" as liveness_lock,
    "/src/web/log-error.js" as log_error,
    "/src/web/messages.js" as messages,
    "/src/web/origin.js" as origin,
    "/src/web/pending-calls.js" as pending_calls,
    "/src/web/receive-queue.js" as receive_queue,
    "/src/web/reporting.js" as reporting,
    "/src/web/request-context.js" as request_context,
    "/src/web/request-dispatcher.js" as request_dispatcher,
    "/src/web/send-queue.js" as send_queue,
    "/src/web/session-queue.js" as session_queue,
    "/src/web/session-states.js" as session_states,
    "/src/web/session-transport.js" as session_transport,
    "/src/web/shared-params.js" as shared_params,
    "/src/web/snapshot.js" as snapshot,
    "/src/web/streams.js" as streams,
    "/src/web/timers.js" as timers,
    "/src/web/transports.js" as transports,
    "/src/web/unreadable-timer.js" as unreadable_timer,
    "/src/web/user-code.js" as user_code,
    "/src/web/virtual-port.js" as virtual_port,
    "/src/web/wasm-callbacks.js" as wasm_callbacks,
    "/src/web/wasm-commands.js" as wasm_commands,
    "/src/web/wasm-instance.js" as wasm_instance,
    "/src/web/wasm-output.js" as wasm_output,
    "/src/web/wasm-outputs.js" as wasm_outputs,
}

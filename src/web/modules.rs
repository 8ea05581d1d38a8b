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
    "/src/web/calls.js" as calls,
    "/src/web/clock.js" as clock,
    "/src/web/columns.js" as columns,
    "/src/web/commands.js" as commands,
    "/src/web/complain.js" as complain,
    "/src/web/core.js" as core,
    "/src/web/door.js" as door,
    "/src/web/early-messages.js" as early_messages,
    "/src/web/envelope.js" as envelope,
    "/src/web/errors.js" as errors,
    "/src/web/hello.js" as hello,
    "/src/web/inbox.js" as inbox,
    "/src/web/incoming.js" as incoming,
    "/src/web/lane.js" as lane,
    "/src/web/later.js" as later,
    "/src/web/limit-values.js" as limit_values,
    "/src/web/limits.js" as limits,
    "/src/web/link.js" as link,
    "/src/web/listen.js" as listen,
    "/src/web/liveness.js" as liveness,
    "/src/web/origin.js" as origin,
    "/src/web/outbox.js" as outbox,
    "/src/web/outgoing.js" as outgoing,
    "/src/web/outputs.js" as outputs,
    "/src/web/reporting.js" as reporting,
    "/src/web/service.js" as service,
    "/src/web/session.js" as session,
    "/src/web/shared-params.js" as shared_params,
    "/src/web/small.js" as small,
    "/src/web/streams.js" as streams,
    "/src/web/timers.js" as timers,
    "/src/web/told.js" as told,
    "/src/web/transports.js" as transports,
    "/src/web/unreadable-timer.js" as unreadable_timer,
    "/src/web/words.js" as words,
}

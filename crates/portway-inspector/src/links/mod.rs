//! Links, and the calls on them: a response ends the pending request with its id in the opposite direction.

mod batch;
mod calls;
mod durations;
mod id;
mod methods;
mod statistics;
mod table;

pub use batch::{BatchMatch, answers};
pub use calls::{Call, CallPlace, Calls, MAX_ANSWERED, MAX_CALLS_WITHOUT_ROW};
pub use durations::Durations;
pub use id::{MAX_ID_LENGTH, bounded, is_text, json, matching, other_type};
pub use methods::{MAX_METHOD_LENGTH, MethodId, Methods};
pub use statistics::{MAX_METHODS, MethodFigures, Statistics};
pub use table::{Link, Links, MAX_LINKS, State, Traffic};

//! Links, and the calls on them: a response ends the pending request with its id in the opposite direction.

mod batch;
mod calls;
mod durations;
mod id;
mod methods;
mod statistics;
mod table;

pub use batch::{BatchMatch, answers};
pub use calls::{Call, CallPlace, Calls};
pub use durations::Durations;
pub use id::{bounded, is_text, json, matching, other_type};
pub use methods::{MethodId, Methods};
pub use statistics::{MethodFigures, Statistics};
pub use table::{Link, Links, State, Traffic};

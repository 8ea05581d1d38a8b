//! The limits of the contract and of its requests.

use std::time::Duration;

/// Maximum number of incidents of a request.
pub(crate) const MAX_INCIDENTS: usize = 1_000;
/// Maximum characters of the id of an incident, and of the id of its rule.
pub(crate) const MAX_ID_CHARACTERS: usize = 255;
/// Maximum characters of the message of an incident.
pub(crate) const MAX_MESSAGE_CHARACTERS: usize = 1_000;
/// Maximum characters of the description of an incident.
pub(crate) const MAX_DESCRIPTION_CHARACTERS: usize = 5_000;
/// Maximum characters of the effort of an incident.
pub(crate) const MAX_EFFORT_CHARACTERS: usize = 100;
/// Maximum characters of the name of a tool, an extension, a provider or a model.
pub(crate) const MAX_NAME_CHARACTERS: usize = 100;
/// Maximum number of patterns, extensions, custom tools, hints or constraints.
pub(crate) const MAX_LIST_ITEMS: usize = 1_000;
/// Maximum of `max_tool_calls`.
pub(crate) const MAX_TOOL_CALLS: u64 = 10_000;
/// Maximum of `max_turns` and `max_tokens`.
pub(crate) const MAX_CONFIGURED_NUMBER: u64 = 1_000_000_000;
/// Maximum of `max_processing_time`, in seconds.
pub(crate) const MAX_PROCESSING_SECONDS: u64 = 86_400;
/// Default of `max_processing_time`, in seconds.
pub(crate) const PROCESSING_SECONDS: u64 = 300;
/// Maximum time that a run has to end after it was stopped.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);
/// Maximum time that a run has to end while the server ends. It is shorter than the grace of a link, so that the request
/// is still answered.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Maximum bytes of a message to a client, which is also the maximum of a message from it.
pub(crate) const MAX_MESSAGE_BYTES: usize = 10_485_760;
/// Maximum number of elements of a list in a notification or an error.
pub(crate) const MAX_LISTED: usize = 100;
/// Maximum bytes of the whole configuration, as JSON.
pub(crate) const MAX_CONFIGURATION_BYTES: usize = 1_048_576;
/// Maximum time that a request waits for the end of an earlier request of its session that was stopped. Agents end a
/// cancelled turn within about a second. It is shorter than the time that an agent has to do so.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum bytes of a tool's output in a notification.
pub(crate) const MAX_OUTPUT_BYTES: usize = 65_536;

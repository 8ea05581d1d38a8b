//! Limits that `cargo xtask limits --write` generates from limits.toml.

use core::time::Duration;

/// Maximum number of incidents of a request of `kaiak serve`.
pub(crate) const MAX_INCIDENTS: usize = 1_000;
/// Maximum number of characters of the id of an incident, of a rule or of a question.
pub(crate) const MAX_ID_CHARACTERS: usize = 255;
/// Maximum number of characters of the message of an incident.
pub(crate) const MAX_MESSAGE_CHARACTERS: usize = 1_000;
/// Maximum number of characters of the description of an incident, and of a text of the migration context.
pub(crate) const MAX_DESCRIPTION_CHARACTERS: usize = 5_000;
/// Maximum number of characters of the effort of an incident.
pub(crate) const MAX_EFFORT_CHARACTERS: usize = 100;
/// Maximum number of characters of the id of a rule in the id of an incident of `kaiak find`.
pub(crate) const MAX_RULE_ID_IN_INCIDENT: usize = 200;
/// Maximum number of characters of the name of a tool, an extension, a provider or a model.
pub(crate) const MAX_NAME_CHARACTERS: usize = 100;
/// Maximum number of elements of a list in the configuration or in the migration context.
pub(crate) const MAX_LIST_ITEMS: usize = 1_000;
/// Maximum bytes of the whole configuration, as JSON.
pub(crate) const MAX_CONFIGURATION_BYTES: usize = 1_048_576;
/// Maximum of `tools.max_tool_calls`.
pub(crate) const MAX_TOOL_CALLS: u64 = 10_000;
/// Default of `tools.max_tool_calls`.
pub(crate) const DEFAULT_TOOL_CALLS: u64 = 10;
/// Default of `session.max_turns`.
pub(crate) const DEFAULT_TURNS: u64 = 1_000;
/// Maximum of `session.max_turns` and `model.max_tokens`.
pub(crate) const MAX_CONFIGURED_NUMBER: u64 = 1_000_000_000;
/// Maximum of `max_processing_time`, in seconds.
pub(crate) const MAX_PROCESSING_SECONDS: u64 = 86_400;
/// Default of `max_processing_time`, in seconds.
pub(crate) const DEFAULT_PROCESSING_SECONDS: u64 = 300;
/// Default time of a question to the client, in seconds.
pub(crate) const DEFAULT_INTERACTION_SECONDS: u64 = 30;
/// Default maximum number of sessions of `kaiak serve`.
pub(crate) const DEFAULT_MAX_SESSIONS: u32 = 1_024;
/// Maximum time of a run to end after it was stopped.
pub(crate) const STOP_GRACE: Duration = Duration::from_millis(5_000);
/// Maximum time of a run to end while the server ends.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_millis(1_000);
/// Maximum time that a request waits for the end of an earlier request of its session that was stopped.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_millis(2_000);
/// Maximum bytes of a message of `kaiak serve`.
pub(crate) const MAX_MESSAGE_BYTES: usize = 10_485_760;
/// Maximum number of files or places that a notification or an error lists.
pub(crate) const MAX_LISTED: usize = 100;
/// Maximum bytes of the output of a tool, and of the parameters of a tool of an agent, in a notification.
pub(crate) const MAX_OUTPUT_BYTES: usize = 65_536;
/// Maximum number of characters of a text of the client that an error repeats.
pub(crate) const MAX_ECHO_CHARACTERS: usize = 100;
/// Maximum number of characters of a path that an error repeats.
pub(crate) const MAX_SHOWN_CHARACTERS: usize = 200;
/// Maximum number of characters of a path.
pub(crate) const MAX_PATH_CHARACTERS: usize = 4_096;
/// Maximum bytes of a file that is read or written.
pub(crate) const MAX_FILE_BYTES: u64 = 2_097_152;
/// Maximum depth of the folders of a workspace.
pub(crate) const MAX_FOLDER_DEPTH: usize = 128;
/// Maximum number of attempts to find an unused name for a temporary file.
pub(crate) const MAX_NAME_ATTEMPTS: u32 = 64;
/// Maximum number of threads that read and write files and standard streams.
pub(crate) const MAX_BLOCKING_THREADS: usize = 16;
/// Maximum bytes of a file of rules.
pub(crate) const MAX_RULE_FILE_BYTES: u64 = 16_777_216;
/// Maximum depth of folders below a folder of rules.
pub(crate) const MAX_RULE_FOLDER_DEPTH: usize = 16;
/// Maximum number of characters of an invalid value, or of its error, that a warning about rules repeats.
pub(crate) const MAX_REASON_CHARACTERS: usize = 200;
/// Maximum depth of nested conditions of a rule.
pub(crate) const MAX_CONDITION_DEPTH: usize = 16;
/// Maximum bytes of a compiled pattern of a rule.
pub(crate) const MAX_PATTERN_BYTES: usize = 4_194_304;
/// Maximum bytes of a compiled pattern of a fix.
pub(crate) const MAX_FIX_PATTERN_BYTES: usize = 1_048_576;
/// Maximum bytes of a compiled set of patterns, and of the states that its searches cache.
pub(crate) const MAX_SET_BYTES: usize = 67_108_864;
/// Maximum time of one search in one file.
pub(crate) const MAX_SEARCH_TIME: Duration = Duration::from_millis(3_000);
/// Maximum number of times that all rules are applied to a file.
pub(crate) const MAX_PASSES: usize = 8;
/// Maximum bytes of the updates and requests of an agent that wait for the run.
pub(crate) const MAX_QUEUED_BYTES: usize = 16_777_216;
/// Maximum bytes of the whole text of a response of an agent.
pub(crate) const MAX_TEXT_BYTES: usize = 1_048_576;
/// Maximum number of lines of the standard error of an agent that an error repeats.
pub(crate) const STDERR_LINES: usize = 10;
/// Maximum bytes of a line of the standard error of an agent.
pub(crate) const MAX_STDERR_LINE_BYTES: u64 = 1_024;
/// Maximum time of the start of an agent.
pub(crate) const START_TIMEOUT: Duration = Duration::from_millis(60_000);
/// Maximum time of an agent to exit after its input was closed.
pub(crate) const EXIT_GRACE: Duration = Duration::from_millis(500);
/// Maximum wait for the last lines of the standard error of an agent that has exited.
pub(crate) const STDERR_GRACE: Duration = Duration::from_millis(250);
/// Maximum time of `session/close`.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time of an agent to end a turn that was cancelled.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(4_000);
/// Time without an update after which a turn with a response ends.
pub(crate) const QUIET: Duration = Duration::from_millis(50);
/// Maximum number of updates after the response to a prompt.
pub(crate) const MAX_LATE_UPDATES: usize = 100;

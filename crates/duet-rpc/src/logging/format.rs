//! Formats a line of the log: `<timestamp> <severity> <message> method="<name>" id=<id>`. The method and the id are
//! optional.

use core::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats events as lines.
pub(super) struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        SystemTime.format_time(&mut writer)?;
        let (severity, color) = severity(*event.metadata().level());
        if writer.has_ansi_escapes() {
            write!(writer, " \u{1b}[{color}m{severity:5}\u{1b}[0m {}", fields.message)?;
        } else {
            write!(writer, " {severity:5} {}", fields.message)?;
        }
        if let Some(method) = fields.method {
            write!(writer, " method={method}")?;
        }
        if let Some(id) = fields.id {
            write!(writer, " id={id}")?;
        }
        writer.write_char('\n')
    }
}

/// Returns the name of a level, and its colour as an ANSI code: red, yellow, cyan or grey.
fn severity(level: Level) -> (&'static str, u8) {
    match level {
        Level::ERROR => ("error", 31),
        Level::WARN => ("warn", 33),
        Level::INFO => ("info", 36),
        _ => ("debug", 90),
    }
}

/// The fields of an event that the line of the log contains.
#[derive(Default)]
struct Fields {
    message: String,
    method: Option<String>,
    id: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            "method" => self.method = Some(text),
            "id" => self.id = Some(text),
            _ => {}
        }
    }
}

//! `portway validate`: runs the validator of the library on files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use portway::codec::json;
use portway::stdio;
use portway::validate::{Expect, Options, Severity};
use portway_cli_support::escape::escape_control;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::arguments::ValidateArguments;
use crate::output::{Failure, USAGE_OR_IO_FAILED, exit_after_write, print_message};
use crate::terminal::EscapingWriter;

pub(crate) fn run(arguments: &ValidateArguments) -> Result<ExitCode, Failure> {
    let mut validation = Validation {
        out: BufWriter::new(EscapingWriter::on_stdout(stdio::stdout())),
        options: Options { expect: expectation(arguments), null_params_are_absent: arguments.null_params },
        arguments,
        valid: 0,
        invalid: 0,
        unreadable: 0,
    };
    let written = validation.run();
    let code = match &validation {
        Validation { unreadable: 1.., .. } => ExitCode::from(USAGE_OR_IO_FAILED),
        Validation { invalid: 1.., .. } => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    };
    exit_after_write(written, code)
}

const fn expectation(arguments: &ValidateArguments) -> Expect {
    if arguments.response {
        Expect::Response
    } else if arguments.request {
        Expect::Request
    } else {
        Expect::Either
    }
}

struct Validation<'a> {
    out: BufWriter<EscapingWriter<stdio::Stdout>>,
    options: Options,
    arguments: &'a ValidateArguments,
    valid: u64,
    invalid: u64,
    unreadable: u64,
}

/// The errors and warnings of one message.
#[derive(Debug, Serialize)]
struct Verdict {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(rename = "isValid")]
    is_valid: bool,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Validation<'_> {
    /// Checks all files. Reports and counts the files that cannot be read.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn run(&mut self) -> io::Result<()> {
        let standard_input = [Path::new("-").to_path_buf()];
        let files = if self.arguments.files.is_empty() { &standard_input[..] } else { &self.arguments.files };
        for file in files {
            let (name, opened): (_, io::Result<Box<dyn Read>>) = if file.as_os_str() == OsStr::new("-") {
                ("<stdin>".into(), Ok(Box::new(stdio::stdin())))
            } else {
                (file.to_string_lossy(), File::open(file).map(|file| Box::new(file) as _))
            };
            match opened {
                Ok(opened) if self.arguments.lines => self.check_lines(&name, opened)?,
                Ok(opened) => {
                    let mut text = Vec::new();
                    match opened.take(self.max_read_bytes()).read_to_end(&mut text) {
                        Ok(_) => self.check(&name, None, &text)?,
                        Err(error) => self.unreadable(&name, &error),
                    }
                }
                Err(error) => self.unreadable(&name, &error),
            }
        }
        if !self.arguments.json {
            self.summarize()?;
        }
        self.out.flush()
    }

    fn check_lines(&mut self, name: &str, file: impl Read) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            match read_line(&mut reader, self.max_read_bytes(), &mut line) {
                Ok(0) => return Ok(()),
                Ok(_) => number += 1,
                Err(error) => {
                    self.unreadable(name, &error);
                    return Ok(());
                }
            }
            if !line.trim_ascii().is_empty() {
                self.check(name, Some(number), &line)?;
            }
        }
    }

    /// Returns the maximum number of bytes to read of a message. The number is one more than the limit, so that a
    /// message over the limit is noticed.
    const fn max_read_bytes(&self) -> u64 {
        (self.arguments.max_bytes as u64).saturating_add(1)
    }

    fn unreadable(&mut self, name: &str, error: &io::Error) {
        self.unreadable += 1;
        print_message(format_args!("cannot read {name}: {error}"));
    }

    fn check(&mut self, name: &str, line: Option<u64>, text: &[u8]) -> io::Result<()> {
        let outcome = if text.len() > self.arguments.max_bytes {
            Err(format!("It is longer than {} bytes. Set a larger limit with --max-bytes", self.arguments.max_bytes))
        } else {
            validate(text, self.options)
        };
        let (errors, warnings) = outcome.unwrap_or_else(|problem| (vec![problem], Vec::new()));
        let verdict = Verdict { file: name.to_owned(), line, is_valid: errors.is_empty(), errors, warnings };
        *(if verdict.is_valid { &mut self.valid } else { &mut self.invalid }) += 1;
        if self.arguments.json {
            serde_json::to_writer(&mut self.out, &verdict)?;
            writeln!(self.out)
        } else {
            self.write_verdict(&verdict)
        }
    }

    fn write_verdict(&mut self, verdict: &Verdict) -> io::Result<()> {
        // With `--lines`, only lines with errors or warnings are printed, since a file may have a million lines.
        if verdict.line.is_some() && verdict.is_valid && verdict.warnings.is_empty() {
            return Ok(());
        }
        let line_suffix = verdict.line.map(|line| format!(":{line}")).unwrap_or_default();
        let word = if verdict.is_valid { "valid" } else { "invalid" };
        writeln!(self.out, "{}{line_suffix}: {word}", escape_control(&verdict.file))?;
        for (severity, texts) in [(Severity::Error, &verdict.errors), (Severity::Warning, &verdict.warnings)] {
            let word = if severity == Severity::Error { "error" } else { "warning" };
            for text in texts {
                writeln!(self.out, "  {word}: {}", escape_control(text))?;
            }
        }
        Ok(())
    }

    fn summarize(&mut self) -> io::Result<()> {
        let Self { valid, invalid, unreadable, .. } = self;
        let noun = if valid.saturating_add(*invalid) == 1 { "message" } else { "messages" };
        write!(self.out, "{} {noun}: {valid} valid, {invalid} invalid", *valid + *invalid)?;
        if *unreadable > 0 {
            write!(self.out, "; {unreadable} not read")?;
        }
        writeln!(self.out)
    }
}

/// Reads a line without its line feed, and appends at most `max_bytes` of the line to `line`. Returns the number of
/// bytes that were read, or 0 at the end of the input.
fn read_line(reader: &mut impl BufRead, max_bytes: u64, line: &mut Vec<u8>) -> io::Result<usize> {
    let count = reader.take(max_bytes).read_until(b'\n', line)?;
    if line.ends_with(b"\n") {
        line.pop();
        return Ok(count);
    }
    Ok(count + if count as u64 == max_bytes { reader.skip_until(b'\n')? } else { 0 })
}

/// Returns the errors and warnings of a message. `Err` is the reason why the text is not a message.
fn validate(text: &[u8], options: Options) -> Result<(Vec<String>, Vec<String>), String> {
    let text =
        str::from_utf8(text).map_err(|problem| format!("It is not UTF-8 from byte {} on", problem.valid_up_to()))?;
    // `json::validate` returns no position of a syntax error, so serde_json checks the syntax.
    serde_json::from_str::<&RawValue>(text).map_err(|problem| format!("It is not JSON: {problem}"))?;
    let report = json::validate(text, options).ok_or("It is not JSON")?;
    Ok((report.errors(), report.warnings()))
}

//! The operations of an input. An input is text with one operation on each line, so that an input of the corpus can be
//! read. The first character of a line selects the operation, and the rest of the line is its argument.

use portway_inspector::record::{Direction, RecordKind};

/// An operation on an inspector.
#[derive(Debug)]
pub enum Operation<'t> {
    /// `>`: a message that is sent on the current link. `<`: a message that is received. `(`: a sent message whose end
    /// is missing. `)`: a received message whose end is missing. A line that begins with an unknown character is like
    /// `>`.
    Message {
        direction: Direction,
        text: &'t str,
        is_cut: bool,
    },
    /// `!`: invalid text. `o`: an `open` record. `c`: a `close` record. `g`: a gap of messages.
    Record {
        kind: RecordKind,
        argument: &'t str,
    },
    /// `M`: the next records are taken by [`Inspector::take_one_of_many`]. `N`: the next records are taken one by one.
    Many {
        is_on: bool,
    },
    /// `@`: the id of the link of the next records.
    Link(&'t str),
    /// `+`: the time passes, in microseconds. `-`: the clock is set back.
    Time {
        by: u64,
        is_back: bool,
    },
    /// `l`: the number of rows. `b`: the bytes of all texts. `d`: the number of rows that are dropped at a time.
    Limit {
        name: char,
        value: u64,
    },
    /// `p`: whether rows with a pending call are dropped last. `q`: whether rows with a batch are dropped last. `a`:
    /// whether an array of responses answers a batch with one pending id.
    Flag {
        name: char,
        is_on: bool,
    },
    /// The members of the filter. `m`: the method. `i`: the id. `t`: the tab. `e`: only errors. `v`: only invalid
    /// messages. `w`: only pending calls.
    Filter {
        name: char,
        value: &'t str,
    },
    /// `x`: a text match of the page for a row.
    Matches(u64),
    /// `h`: a measured height for a row.
    Height(u64),
    /// `P`: a pause. `R`: its end. `C`: all rows are removed. `F`: all measured heights are removed.
    Pause,
    Resume,
    Clear,
    ForgetHeights,
}

/// Returns the operations of an input.
pub fn operations(text: &str) -> impl Iterator<Item = Operation<'_>> {
    text.split('\n').filter_map(|line| {
        let name = line.chars().next()?;
        Some(operation(name, line.get(name.len_utf8()..)?))
    })
}

fn operation(name: char, argument: &str) -> Operation<'_> {
    let number = argument.parse::<u64>().unwrap_or_default();
    let message = |direction, is_cut| Operation::Message { direction, text: argument, is_cut };
    let record = |kind| Operation::Record { kind, argument };
    match name {
        '<' => message(Direction::Received, false),
        '(' => message(Direction::Sent, true),
        ')' => message(Direction::Received, true),
        '!' => record(RecordKind::Invalid),
        'o' => record(RecordKind::Open),
        'c' => record(RecordKind::Close),
        'g' => record(RecordKind::Gap),
        '@' => Operation::Link(argument),
        '+' | '-' => Operation::Time { by: number, is_back: name == '-' },
        'l' | 'b' | 'd' => Operation::Limit { name, value: number },
        'p' | 'q' | 'a' => Operation::Flag { name, is_on: number > 0 },
        'm' | 'i' | 't' | 'e' | 'v' | 'w' => Operation::Filter { name, value: argument },
        'x' => Operation::Matches(number),
        'h' => Operation::Height(number),
        'M' | 'N' => Operation::Many { is_on: name == 'M' },
        'P' => Operation::Pause,
        'R' => Operation::Resume,
        'C' => Operation::Clear,
        'F' => Operation::ForgetHeights,
        _ => message(Direction::Sent, false),
    }
}

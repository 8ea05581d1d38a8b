//! Classifies the errors that occur when a listener accepts a connection.

use std::io;

#[cfg(unix)]
use rustix::io::Errno;

/// The cause of an error of `accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The error is about a single connection, which is closed. The next connection may succeed.
    Connection,
    /// The error may occur again at once, for example because of too many open files, a firewall or a security module.
    Unknown,
    /// The error is about the listener, which accepts no more connections.
    Listener,
}

#[cfg(unix)]
impl Cause {
    pub(super) fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            // Linux reports an error that is pending on the new socket as an error of `accept` (accept(2), "Error
            // handling").
            Some(
                Errno::CONNABORTED
                | Errno::CONNREFUSED
                | Errno::CONNRESET
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::INTR
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::NOPROTOOPT
                | Errno::NOTCONN
                | Errno::OPNOTSUPP
                | Errno::PIPE
                | Errno::PROTO
                | Errno::TIMEDOUT,
            ) => Self::Connection,
            // Tokio returns an error without a number when its runtime shuts down.
            Some(Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOSYS | Errno::NOTSOCK) | None => Self::Listener,
            Some(_) => Self::Unknown,
        }
    }
}

#[cfg(windows)]
impl Cause {
    /// Classifies an error by its number ("Windows Sockets Error Codes").
    pub(super) fn of(error: &io::Error) -> Self {
        const WSAEINTR: i32 = 10_004;
        const WSAEBADF: i32 = 10_009;
        const WSAEFAULT: i32 = 10_014;
        const WSAEINVAL: i32 = 10_022;
        const WSAENOTSOCK: i32 = 10_038;
        const WSAEOPNOTSUPP: i32 = 10_045;
        const WSAECONNABORTED: i32 = 10_053;
        const WSAECONNRESET: i32 = 10_054;
        const WSAETIMEDOUT: i32 = 10_060;
        const WSANOTINITIALISED: i32 = 10_093;
        match error.raw_os_error() {
            Some(WSAEINTR | WSAECONNABORTED | WSAECONNRESET | WSAETIMEDOUT) => Self::Connection,
            // Tokio returns an error without a number when its runtime shuts down.
            Some(WSAEBADF | WSAEFAULT | WSAEINVAL | WSAENOTSOCK | WSAEOPNOTSUPP | WSANOTINITIALISED) | None => {
                Self::Listener
            }
            // For example `WSAEMFILE`, `WSAENETDOWN` and `WSAENOBUFS`.
            Some(_) => Self::Unknown,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_about_the_listener_ends_the_listener() {
        for (cause, errors) in [
            (
                Cause::Connection,
                &[Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::OPNOTSUPP][..],
            ),
            (
                Cause::Unknown,
                &[Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::PERM, Errno::ACCESS, Errno::IO],
            ),
            (Cause::Listener, &[Errno::BADF, Errno::INVAL, Errno::NOTSOCK]),
        ] {
            for error in errors {
                assert_eq!(Cause::of(&io::Error::from(*error)), cause, "{error:?}");
            }
        }
        assert_eq!(Cause::of(&io::Error::other("the runtime ends")), Cause::Listener);
    }
}

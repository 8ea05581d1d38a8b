//! Finds the reason why a program cannot be started.

use std::io;
use std::process::Command;

/// Returns the reason why a program was not started, or `None` if the error of the system already names the reason. For
/// example, `ENOENT` may mean that the working directory or the interpreter is missing, and `EACCES` may mean that the
/// program is a folder.
///
/// [`Transport::child`](crate::Transport::child) adds this reason to its error. Call this function if your code
/// starts the process itself, for example for [`Transport::with_child`](crate::Transport::with_child).
#[must_use]
pub fn spawn_error_reason(error: &io::Error, command: &Command) -> Option<String> {
    if let Some(folder) = command.get_current_dir().filter(|folder| !folder.is_dir()) {
        return Some(format!("the working directory {}: {error}", folder.display()));
    }
    sys::hidden_reason(error, command)
}

/// The implementation for Windows. The error of Windows names every reason except a missing working directory.
#[cfg(not(unix))]
mod sys {
    pub(super) const fn hidden_reason(_: &std::io::Error, _: &std::process::Command) -> Option<String> {
        None
    }
}

#[cfg(unix)]
mod sys {
    use std::env;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Linux reads at most this number of bytes of the first line of a script.
    const MAX_FIRST_LINE_BYTES: u64 = 256;

    /// Returns the reason that the error does not name, see [`spawn_error_reason`](super::spawn_error_reason).
    pub(super) fn hidden_reason(error: &io::Error, command: &Command) -> Option<String> {
        if error.kind() == io::ErrorKind::PermissionDenied && path(command).is_some_and(|path| path.is_dir()) {
            return Some("it is a folder".to_owned());
        }
        if error.kind() != io::ErrorKind::NotFound {
            return None;
        }
        let program = find(command)?;
        let Some(interpreter) = interpreter(&program) else {
            return Some("the program exists, but its loader does not".to_owned());
        };
        let (name, problem) = match interpreter.strip_suffix(b"\r") {
            Some(name) => (name, "was not found: the line ends with CRLF, and must end with LF"),
            None => (interpreter.as_slice(), "was not found"),
        };
        Some(format!("the interpreter {} in the first line of the script {problem}", OsStr::from_bytes(name).display()))
    }

    /// Returns the path of the program, or `None` if its name is not a path.
    fn path(command: &Command) -> Option<PathBuf> {
        let program = Path::new(command.get_program());
        let is_path = program.as_os_str().as_bytes().contains(&b'/');
        is_path.then(|| command.get_current_dir().map_or_else(|| program.to_path_buf(), |folder| folder.join(program)))
    }

    /// Finds the file of the program in the same way as the system.
    fn find(command: &Command) -> Option<PathBuf> {
        if let Some(path) = path(command) {
            return Some(path).filter(|file| file.is_file());
        }
        let program = Path::new(command.get_program());
        let folder = command.get_current_dir().unwrap_or_else(|| Path::new(""));
        let own_path = command.get_envs().find(|(name, _)| *name == "PATH");
        let path = own_path.map_or_else(|| env::var_os("PATH"), |(_, value)| value.map(OsStr::to_os_string))?;
        env::split_paths(&path).map(|part| folder.join(part).join(program)).find(|file| file.is_file())
    }

    /// Returns the interpreter in the first line of a script, or `None` if the program is not a script.
    fn interpreter(program: &Path) -> Option<Vec<u8>> {
        let mut start = Vec::new();
        File::open(program).ok()?.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut start).ok()?;
        let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let words = line.trim_ascii_start().split(|byte| matches!(byte, b' ' | b'\t'));
        words.into_iter().next().map(<[u8]>::to_vec)
    }
}

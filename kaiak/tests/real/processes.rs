//! Processes, their descriptors, and the files of a folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

/// Sends SIGKILL to a process.
pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

/// Returns the parent of a process, or `None` if the process has ended. A zombie has ended.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses, and may contain spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if fields.next() == Some("Z") {
        return None;
    }
    fields.next()?.parse().ok()
}

/// Returns whether a process runs.
pub(crate) fn is_running(pid: u32) -> bool {
    parent(pid).is_some()
}

/// Returns whether the system still knows a process. A zombie is known until its parent waits for it.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns the running processes whose parent is `pid`.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|child| parent(*child) == Some(pid)).collect()
}

/// Returns the number of open descriptors of a process.
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Returns the number of entries of a folder.
pub(crate) fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// The path, the content, the mode and the inode number of a file.
pub(crate) type FileState = (PathBuf, Vec<u8>, u32, u64);

/// Returns the state of all files below a folder. A file that was replaced has another inode number.
pub(crate) fn snapshot(folder: &Path) -> Vec<FileState> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap(), metadata.mode(), metadata.ino()));
        }
    }
    files.sort();
    files
}

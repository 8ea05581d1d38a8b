//! Writes to a workspace, which are complete or have no effect.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kaiak::rules::{Operation, Proposal, Risk};
use kaiak::workspace::{ErrorKind, MAX_FILE_BYTES, RelativePath, Workspace};
use tempfile::TempDir;

use crate::project::snapshot;

fn workspace() -> (TempDir, PathBuf, Workspace) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().to_owned();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/b.txt"), "old").unwrap();
    let workspace = Workspace::open_default(&root).unwrap();
    (folder, root, workspace)
}

fn path(workspace: &Workspace, path: &str) -> RelativePath {
    workspace.resolve(path).unwrap()
}

#[test]
fn a_write_replaces_the_content_and_keeps_the_mode() {
    let (_folder, root, workspace) = workspace();
    let file = path(&workspace, "a/b.txt");
    for mode in [0o600, 0o640, 0o755, 0o664] {
        fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(mode)).unwrap();
        let old = workspace.read(&file).unwrap();
        let new = format!("new {mode:o}").into_bytes();
        workspace.write(&file, Some(&old), &new).unwrap();
        assert_eq!(fs::read(root.join("a/b.txt")).unwrap(), new);
        assert_eq!(fs::metadata(root.join("a/b.txt")).unwrap().mode() & 0o7777, mode);
    }
    assert_eq!(fs::read_dir(root.join("a")).unwrap().count(), 1);
}

#[test]
fn a_file_that_has_changed_is_not_overwritten() {
    let (_folder, root, workspace) = workspace();
    let file = path(&workspace, "a/b.txt");
    for change in ["other", "old ", ""] {
        fs::write(root.join("a/b.txt"), change).unwrap();
        assert_eq!(workspace.write(&file, Some(b"old"), b"new").unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!(workspace.delete(&file, b"old").unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!(fs::read_to_string(root.join("a/b.txt")).unwrap(), change);
    }
    fs::remove_file(root.join("a/b.txt")).unwrap();
    assert_eq!(workspace.write(&file, Some(b"old"), b"new").unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(fs::read_dir(root.join("a")).unwrap().count(), 0);
}

#[test]
fn a_new_file_replaces_no_file_and_no_link() {
    let (folder, root, workspace) = workspace();
    let new = path(&workspace, "a/new.txt");
    let outside = folder.path().join("outside");
    symlink(&outside, root.join("a/new.txt")).unwrap();
    assert_eq!(workspace.write(&new, None, b"x").unwrap_err().kind(), ErrorKind::Exists);
    assert!(!outside.exists());
    fs::remove_file(root.join("a/new.txt")).unwrap();
    workspace.write(&new, None, b"x").unwrap();
    assert_eq!(workspace.write(&new, None, b"y").unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(fs::read(root.join("a/new.txt")).unwrap(), b"x");
    let names: Vec<_> = snapshot(&root).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, [root.join("a/b.txt"), root.join("a/new.txt")]);
}

#[test]
fn readers_see_the_old_content_or_the_new_content() {
    let (_folder, root, workspace) = workspace();
    let file = path(&workspace, "a/b.txt");
    let contents = [vec![b'a'; 100_000], vec![b'b'; 50_000]];
    workspace.write(&file, Some(b"old"), &contents[0]).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !is_done.load(Ordering::Relaxed) {
                let read = fs::read(root.join("a/b.txt")).unwrap();
                assert!(contents.contains(&read), "{} bytes", read.len());
                reads += 1;
            }
            reads
        });
        for turn in 0..100 {
            workspace.write(&file, Some(&contents[turn % 2]), &contents[(turn + 1) % 2]).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn a_file_that_its_mode_protects_is_not_written() {
    let (_folder, root, workspace) = workspace();
    let file = path(&workspace, "a/b.txt");
    fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(0o444)).unwrap();
    assert_eq!(workspace.write(&file, Some(b"old"), b"new").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(fs::read(root.join("a/b.txt")).unwrap(), b"old");
}

#[test]
fn a_file_is_read_and_written_up_to_its_limit() {
    let (_folder, root, workspace) = workspace();
    let file = path(&workspace, "a/b.txt");
    let limit = usize::try_from(MAX_FILE_BYTES).unwrap();
    workspace.write(&file, Some(b"old"), &vec![b'x'; limit]).unwrap();
    assert_eq!(workspace.read(&file).unwrap().len(), limit);
    let error = workspace.write(&file, Some(&vec![b'x'; limit]), &vec![b'y'; limit + 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    fs::write(root.join("a/b.txt"), vec![b'x'; limit + 1]).unwrap();
    assert_eq!(workspace.read(&file).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_rename_keeps_the_mode_and_replaces_no_file() {
    let (_folder, root, workspace) = workspace();
    let (from, to) = (path(&workspace, "a/b.txt"), path(&workspace, "a/c.txt"));
    fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(0o750)).unwrap();
    fs::write(root.join("a/c.txt"), "c").unwrap();
    assert_eq!(workspace.rename(&from, &to, b"old", b"new").unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(fs::read(root.join("a/b.txt")).unwrap(), b"old");
    fs::remove_file(root.join("a/c.txt")).unwrap();
    assert_eq!(workspace.rename(&from, &to, b"other", b"new").unwrap_err().kind(), ErrorKind::Changed);
    workspace.rename(&from, &to, b"old", b"new").unwrap();
    assert_eq!(snapshot(&root), [(root.join("a/c.txt"), b"new".to_vec())]);
    assert_eq!(fs::metadata(root.join("a/c.txt")).unwrap().mode() & 0o777, 0o750);
}

#[test]
fn each_operation_of_a_proposal_is_applied() {
    let (_folder, root, workspace) = workspace();
    let (b, c) = (path(&workspace, "a/b.txt"), path(&workspace, "a/c.txt"));
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let apply = |proposal: Proposal, operation: Operation| {
        assert_eq!(proposal.operation, operation);
        workspace.apply(&proposal).unwrap();
        let error = workspace.apply(&proposal).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Changed | ErrorKind::Exists), "{operation}: {error}");
    };
    apply(Proposal::new(c.clone(), None, None, bytes("c"), Risk::Low).unwrap(), Operation::Create);
    apply(Proposal::new(b.clone(), None, bytes("old"), bytes("b"), Risk::Low).unwrap(), Operation::Modify);
    apply(Proposal::new(c.clone(), None, bytes("c"), None, Risk::Low).unwrap(), Operation::Delete);
    apply(Proposal::copy(b.clone(), c.clone(), b"b".to_vec(), b"copy".to_vec(), Risk::Low), Operation::Copy);
    let d = path(&workspace, "a/d.txt");
    let renamed = Proposal::new(c, Some(d), bytes("copy"), bytes("d"), Risk::Low);
    apply(renamed.unwrap(), Operation::Rename);
    let expected = [(root.join("a/b.txt"), b"b".to_vec()), (root.join("a/d.txt"), b"d".to_vec())];
    assert_eq!(snapshot(&root), expected);
    assert!(Proposal::new(b.clone(), Some(b.clone()), bytes("b"), bytes("b"), Risk::Low).is_none());
    assert!(Proposal::new(b, None, None, None, Risk::Low).is_none());
}

/// A second thread replaces the file again and again, by an exchange that returns the replaced content. Each content of
/// this thread must be found again: as the result of an exchange, as the expected content of a write or a deletion, or
/// in the file at the end. If a content is not found again, a write has overwritten it without expecting it.
#[cfg(target_os = "linux")]
#[test]
fn a_change_between_the_comparison_and_the_replacement_is_not_lost() {
    // Writes in memory take less time, so more writes coincide with a replacement.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() };
    let root = folder.path();
    let workspace = Workspace::open_default(root).unwrap();
    for deletes in [false, true] {
        fs::write(root.join("file"), "other 0").unwrap();
        let file = path(&workspace, "file");
        let (is_done, is_deleting) = (AtomicBool::new(false), AtomicBool::new(false));
        let (mut expected, mut written) = (BTreeSet::new(), BTreeSet::new());
        let (exchanges, failed) = thread::scope(|scope| {
            let other = scope.spawn(|| exchange_until(root, &is_done, &is_deleting));
            let mut failed = None;
            for number in 0..3_000 {
                let Ok(old) = workspace.read(&file) else { continue };
                is_deleting.store(deletes, Ordering::SeqCst);
                let new = format!("own {number}");
                let changed = if deletes {
                    workspace.delete(&file, &old)
                } else {
                    workspace.write(&file, Some(&old), new.as_bytes())
                };
                is_deleting.store(false, Ordering::SeqCst);
                match changed {
                    Ok(()) => {
                        expected.insert(String::from_utf8(old).unwrap());
                        written.insert(new);
                    }
                    Err(error) if error.kind() == ErrorKind::Changed => {}
                    // A panic here would wait for the second thread, which does not end.
                    Err(error) => failed = Some(error),
                }
            }
            is_done.store(true, Ordering::Relaxed);
            (other.join().unwrap(), failed)
        });
        assert!(failed.is_none(), "{failed:?}");
        let mut seen = expected.clone();
        seen.extend(exchanges.iter().filter_map(|(_, returned)| returned.clone()));
        seen.extend(fs::read_to_string(root.join("file")));
        // A write that fails is undone. If the second thread has placed a newer content meanwhile, the newer content
        // stays. The content that this thread placed before is not lost, although no exchange returns it: the exchange
        // returns the undone content or an older content.
        for ((placed, _), (_, returned)) in exchanges.iter().zip(exchanges.iter().skip(1)) {
            if returned.as_ref().is_some_and(|returned| returned != placed && !written.contains(returned)) {
                seen.insert(placed.clone());
            }
        }
        let lost: Vec<_> =
            exchanges.iter().map(|(placed, _)| placed).filter(|placed| !seen.contains(*placed)).collect();
        assert_eq!(lost, Vec::<&String>::new(), "deletes: {deletes}");
        assert!(expected.iter().any(|expected| expected.starts_with("other")), "some writes must succeed");
        let names: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "file" || name == "next"), "{names:?}");
    }
}

/// Replaces `file` by an exchange, again and again. If `file` is missing, creates it, except while the first thread
/// deletes it. Returns each new content, with the content that it has replaced.
#[cfg(target_os = "linux")]
fn exchange_until(root: &Path, is_done: &AtomicBool, is_deleting: &AtomicBool) -> Vec<(String, Option<String>)> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let (next, file) = (root.join("next"), root.join("file"));
    let mut exchanges = Vec::new();
    while !is_done.load(Ordering::Relaxed) {
        let number = exchanges.len() + 1;
        let content = format!("other {number}");
        fs::write(&next, &content).unwrap();
        let returned = loop {
            if renameat_with(CWD, &next, CWD, &file, RenameFlags::EXCHANGE).is_ok() {
                break Some(fs::read_to_string(&next).unwrap());
            }
            if !is_deleting.load(Ordering::SeqCst) && !file.exists() {
                fs::rename(&next, &file).unwrap();
                break None;
            }
        };
        exchanges.push((content, returned));
        // The pauses have different lengths, so that the replacements fall into each part of a write.
        let pause = Instant::now();
        while pause.elapsed() < Duration::from_micros(number as u64 * 7 % 400) {
            std::hint::spin_loop();
        }
    }
    exchanges
}

#[test]
fn a_write_separates_a_file_from_its_hard_links() {
    let (_folder, root, workspace) = workspace();
    let outside = TempDir::new().unwrap();
    fs::hard_link(root.join("a/b.txt"), outside.path().join("link")).unwrap();
    workspace.write(&path(&workspace, "a/b.txt"), Some(b"old"), b"new").unwrap();
    assert_eq!(fs::read(root.join("a/b.txt")).unwrap(), b"new");
    assert_eq!(fs::read(outside.path().join("link")).unwrap(), b"old");
}

/// Only root can create a file of another user, so this test needs root. But root may set any owner, so the write runs
/// in a thread that becomes another user. On Linux, each thread has a user of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_another_user_keeps_its_group_and_loses_its_setuid_bit() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_folder, root, workspace) = workspace();
    for folder in [&root, &root.join("a")] {
        fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    }
    std::os::unix::fs::chown(root.join("a/b.txt"), None, Some(NOBODY)).unwrap();
    fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(0o4777)).unwrap();
    let file = path(&workspace, "a/b.txt");
    let write = move || {
        let (user, group) = (rustix::process::Uid::from_raw(NOBODY), rustix::process::Gid::from_raw(NOBODY));
        rustix::thread::set_thread_groups(&[group]).unwrap();
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        workspace.write(&file, Some(b"old"), b"new").unwrap();
    };
    thread::spawn(write).join().unwrap();
    let metadata = fs::metadata(root.join("a/b.txt")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (NOBODY, NOBODY, 0o777));
}

#[test]
fn a_proposal_that_cannot_be_executed_fails_its_check() {
    let (_folder, root, workspace) = workspace();
    let (b, c) = (path(&workspace, "a/b.txt"), path(&workspace, "a/c.txt"));
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let change = Proposal::new(b.clone(), None, bytes("old"), bytes("new"), Risk::Low).unwrap();
    let rename = Proposal::new(b.clone(), Some(c.clone()), bytes("old"), bytes("old"), Risk::Low).unwrap();
    let create = Proposal::new(c, None, None, bytes("c"), Risk::Low).unwrap();
    for proposal in [&change, &rename, &create] {
        workspace.check(proposal).unwrap();
    }
    fs::write(root.join("a/c.txt"), "c").unwrap();
    fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(0o444)).unwrap();
    assert_eq!(workspace.check(&change).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(workspace.check(&create).unwrap_err().kind(), ErrorKind::Exists);
    fs::set_permissions(root.join("a/b.txt"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(workspace.check(&rename).unwrap_err().kind(), ErrorKind::Exists);
    let limit = usize::try_from(MAX_FILE_BYTES).unwrap();
    let large = Proposal::new(b, None, bytes("old"), Some(vec![b'x'; limit + 1]), Risk::Low).unwrap();
    assert_eq!(workspace.check(&large).unwrap_err().kind(), ErrorKind::TooLarge);
    fs::remove_dir_all(root.join("a")).unwrap();
    assert_eq!(workspace.check(&change).unwrap_err().kind(), ErrorKind::NotFound);
}

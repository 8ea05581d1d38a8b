//! The paths of a workspace: which files can be read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use kaiak::workspace::{ErrorKind, MAX_PATH_CHARS, Workspace};
use tempfile::TempDir;

/// Creates the folder `ws` with the file `a/b.txt`, and the folder `ws-evil` beside it with the file `c.txt`.
fn workspace() -> (TempDir, PathBuf, Workspace) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("ws");
    fs::create_dir_all(root.join("a")).unwrap();
    fs::write(root.join("a/b.txt"), "b").unwrap();
    fs::create_dir(folder.path().join("ws-evil")).unwrap();
    fs::write(folder.path().join("ws-evil/c.txt"), "c").unwrap();
    let workspace = Workspace::open_default(&root).unwrap();
    let root = workspace.root().to_owned();
    (folder, root, workspace)
}

#[track_caller]
fn assert_denied(workspace: &Workspace, path: &str) {
    let error = workspace.resolve(path).expect_err(path);
    assert_eq!(error.kind(), ErrorKind::Denied, "{path}: {error}");
}

#[test]
fn paths_and_uris_inside_of_the_workspace_are_resolved() {
    let (_folder, root, workspace) = workspace();
    let absolute = root.join("a/b.txt").display().to_string();
    for path in [
        "a/b.txt",
        "./a//b.txt",
        &absolute,
        &format!("file://{absolute}"),
        &format!("file://localhost{absolute}"),
        &format!("FILE://{}", absolute.replace("b.txt", "%62.txt")),
    ] {
        let resolved = workspace.resolve(path).unwrap();
        assert_eq!(resolved.as_str(), "a/b.txt", "{path}");
        assert_eq!(workspace.read(&resolved).unwrap(), b"b");
        assert_eq!(workspace.uri(&resolved), format!("file://{absolute}"));
    }
    assert_eq!(workspace.resolve("a/new.txt").unwrap().as_str(), "a/new.txt");
}

#[test]
fn paths_out_of_the_workspace_are_denied() {
    let (folder, root, workspace) = workspace();
    let evil = folder.path().canonicalize().unwrap().join("ws-evil/c.txt").display().to_string();
    for path in [
        "..",
        "../ws-evil/c.txt",
        "a/../../ws-evil/c.txt",
        "a/../a/b.txt",
        &evil,
        &format!("file://{evil}"),
        &format!("file://{}/%2e%2e/ws-evil/c.txt", root.display()),
        "/etc/passwd",
        "file:///etc/passwd",
        "file://host/etc/passwd",
        "https://host/a/b.txt",
        "file://%zz",
        "",
        ".",
        "/",
        "a/b\0.txt",
        &root.display().to_string(),
    ] {
        assert_denied(&workspace, path);
    }
}

#[test]
fn links_are_followed_inside_of_the_workspace_only() {
    let (folder, root, workspace) = workspace();
    symlink("b.txt", root.join("a/inside")).unwrap();
    symlink("a", root.join("folder")).unwrap();
    symlink("../ws-evil/c.txt", root.join("out")).unwrap();
    symlink(folder.path().join("ws-evil"), root.join("out-folder")).unwrap();
    symlink("missing", root.join("dangling")).unwrap();
    symlink("../ws-evil/missing", root.join("dangling-out")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    for path in ["a/inside", "folder/b.txt", "folder/inside"] {
        assert_eq!(workspace.resolve(path).unwrap().as_str(), "a/b.txt", "{path}");
    }
    for path in
        ["out", "out-folder/c.txt", "out-folder/new", "dangling", "dangling/x", "dangling-out", "loop", "loop/x"]
    {
        assert_denied(&workspace, path);
    }
}

#[test]
fn a_link_that_replaces_a_file_or_a_folder_after_the_check_is_denied() {
    let (folder, root, workspace) = workspace();
    let path = workspace.resolve("a/b.txt").unwrap();
    fs::remove_file(root.join("a/b.txt")).unwrap();
    symlink("../../ws-evil/c.txt", root.join("a/b.txt")).unwrap();
    assert_eq!(workspace.read(&path).unwrap_err().kind(), ErrorKind::Denied);
    fs::rename(root.join("a"), folder.path().join("moved")).unwrap();
    fs::write(folder.path().join("ws-evil/b.txt"), "evil").unwrap();
    symlink(folder.path().join("ws-evil"), root.join("a")).unwrap();
    assert_eq!(workspace.read(&path).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(workspace.write(&path, Some(b"evil"), b"x").unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(workspace.delete(&path, b"evil").unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(fs::read(folder.path().join("ws-evil/b.txt")).unwrap(), b"evil");
}

#[test]
fn a_path_has_at_most_4096_characters() {
    let (_folder, root, workspace) = workspace();
    let padding = MAX_PATH_CHARS - "a/b.txt".len();
    let path = format!("a{}/b.txt", "/".repeat(padding));
    assert_eq!(path.chars().count(), MAX_PATH_CHARS);
    assert_eq!(workspace.resolve(&path).unwrap().as_str(), "a/b.txt");
    let longer = path.replacen('/', "//", 1);
    let error = workspace.resolve(&longer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.path().chars().count() < 250, "{}", error.path());
    assert_denied(&workspace, &"é".repeat(300));
    assert!(root.exists());
}

#[test]
fn only_regular_files_are_read() {
    let (_folder, root, workspace) = workspace();
    let pipe = root.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    for path in ["pipe", "a"] {
        let path = workspace.resolve(path).unwrap();
        assert_eq!(workspace.read(&path).unwrap_err().kind(), ErrorKind::Denied, "{path}");
    }
    let missing = workspace.resolve("a/missing").unwrap();
    assert_eq!(workspace.read(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(workspace.resolve("missing/x").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_search_omits_links_and_names_that_are_not_utf8() {
    let (folder, root, workspace) = workspace();
    symlink("a/b.txt", root.join("link.txt")).unwrap();
    symlink(folder.path(), root.join("up")).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"latin\xe9.txt")), "x").unwrap();
    fs::create_dir_all(root.join("module/target/x")).unwrap();
    fs::write(root.join("module/target/x/y.txt"), "x").unwrap();
    let mut problems = Vec::new();
    let files = workspace.files(&mut problems).unwrap();
    let paths: Vec<_> = files.iter().map(|path| path.as_str()).collect();
    assert_eq!(paths, ["a/b.txt"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind(), ErrorKind::Denied);
}

#[test]
fn a_workspace_in_a_folder_whose_name_is_not_utf8_resolves_the_uris_of_its_files() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("b.txt"), "b").unwrap();
    let workspace = Workspace::open_default(&root).unwrap();
    let uri = workspace.uri(&workspace.resolve("b.txt").unwrap());
    assert!(uri.ends_with("/caf%E9/b.txt"), "{uri}");
    assert_eq!(workspace.resolve(&uri).unwrap().as_str(), "b.txt");
}

#[test]
fn a_workspace_must_be_a_folder_with_valid_patterns() {
    let (folder, root, _) = workspace();
    let missing = Workspace::open_default(&folder.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().ends_with("the workspace must be a folder, and does not exist"), "{missing}");
    let file = Workspace::open_default(&root.join("a/b.txt")).unwrap_err();
    assert_eq!(file.kind(), ErrorKind::Denied);
    let pattern = Workspace::open(&root, &["a[".to_owned()], &[]).unwrap_err();
    assert!(pattern.to_string().contains("a["), "{pattern}");
}

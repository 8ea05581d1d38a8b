//! Programs that cannot be started. The error must name the missing or unusable file or folder, and the reason.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use portway::{Framing, Process, Transport, wipc};
use tokio::process::Command;

fn script(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named_with_the_reason() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [crlf, orphan, plain, missing] = ["crlf", "orphan", "plain", "missing"].map(|name| folder.path().join(name));
    script(&crlf, "#!/bin/sh\r\necho\r\n")?;
    script(&orphan, "#! /nonexistent/interpreter -x\necho\n")?;
    fs::write(&plain, "")?;
    let (crlf, plain, missing) = (crlf.display(), plain.display(), missing.display());
    for (program, working_directory, expected) in [
        (missing.to_string(), None, format!("{missing}: No such file or directory (os error 2)")),
        ("portway-no-such-program".to_owned(), None, "portway-no-such-program: No such file or directory".to_owned()),
        (plain.to_string(), None, format!("{plain}: Permission denied")),
        ("sh".to_owned(), Some(missing.to_string()), format!("sh: the working directory {missing}: No such file")),
        ("sh".to_owned(), Some(plain.to_string()), format!("sh: the working directory {plain}: Not a directory")),
        (
            crlf.to_string(),
            None,
            format!(
                "{crlf}: the interpreter /bin/sh in the first line of the script was not found: the line ends with CRLF, \
                 and must end with LF"
            ),
        ),
        (
            "./orphan".to_owned(),
            Some(folder.path().display().to_string()),
            "./orphan: the interpreter /nonexistent/interpreter in the first line of the script was not found"
                .to_owned(),
        ),
    ] {
        let mut command = Command::new(&program);
        if let Some(folder) = &working_directory {
            command.current_dir(folder);
        }
        let by_transport = Transport::child(&mut command, Framing::Newline).err();
        let by_host = wipc::Host::spawn(&mut command).err();
        let by_process = Process::from_command(command, Framing::Newline).start(|_| {}).err();
        for error in [by_transport, by_host, by_process] {
            let text = error.ok_or("an error is expected")?.to_string();
            assert!(text.starts_with(&expected), "the error must start with {expected}, got {text}");
        }
    }
    // The library searches for the program in the `PATH` of the new process, not in its own `PATH`.
    let mut command = Command::new("crlf");
    let error =
        Transport::child(command.env("PATH", folder.path()), Framing::Newline).err().ok_or("an error is expected")?;
    assert!(error.to_string().starts_with("crlf: the interpreter /bin/sh"), "{error}");
    Ok(())
}

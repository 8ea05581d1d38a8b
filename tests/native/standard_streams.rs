//! Servers on standard streams. The tests start this test program again, with the name of a role in its environment.

use std::env;
use std::io;
use std::process::{self, Command};
use std::time::Duration;

use portway::{Context, Framing, RpcError, Server, Transport};
use serde_json::value::RawValue;

use crate::non_blocking_streams::{
    Kind, Running, Streams, Subject, When, carries_100_megabytes_each_way, serves_under_node,
    serves_whenever_the_flag_is_set, write_all,
};
use crate::wire::frame;

/// Returns a command that runs this program as a server in this role.
fn program(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap_or_default());
    command.args(["--exact", "standard_streams::runs_the_server_of_the_environment", "--nocapture"]);
    command.env("ROLE_OF_SERVER", role);
    command
}

/// In a process that [`program`] has started, serves and then exits. In other processes, does nothing.
#[test]
fn runs_the_server_of_the_environment() {
    let Ok(role) = env::var("ROLE_OF_SERVER") else { return };
    let mut first = String::new();
    let served = match role.as_str() {
        "after a line" => io::stdin().read_line(&mut first).and_then(|_| serve()),
        _ => serve(),
    };
    process::exit(if served.is_ok() { 0 } else { 9 });
}

/// Serves until the link ends, and then drops the runtime, as a program with `#[tokio::main]` does.
fn serve() -> io::Result<()> {
    // This line separates the output of libtest from the frames.
    println!("ready");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let server = Server::new(Transport::stdio(Framing::ContentLength)?);
        server.method("echo", |params: Box<RawValue>, _: Context| async move { Ok::<_, RpcError>(params) });
        let stopper = server.stopper();
        server.on_notify("stop", move |(): (), _: Context| stopper.stop());
        server.run().await;
        Ok(())
    })
}

const SERVER: Subject = Subject {
    command: || program("serve"),
    preamble: b"ready\n",
    request: |payload| frame(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{payload}"]}}"#)),
    answer: |payload| frame(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":["{payload}"]}}"#)),
};

#[test]
fn a_server_serves_whenever_its_streams_become_non_blocking() {
    serves_whenever_the_flag_is_set(SERVER);
}

#[test]
fn a_server_serves_under_a_node_script_that_uses_its_streams() {
    serves_under_node(SERVER);
}

#[test]
fn a_hundred_megabytes_each_way_pass_a_server_through_non_blocking_pipes() {
    carries_100_megabytes_each_way(SERVER);
}

#[test]
fn a_program_ends_with_its_server_while_its_input_is_open() {
    for when in When::ALL {
        let mut running = Running::start(SERVER, Streams::Both, when, Kind::Pipes);
        running.read_preamble();
        running.exchange(10, usize::MAX);
        // During this pause, the server begins a read that never returns.
        std::thread::sleep(Duration::from_millis(20));
        write_all(running.input(), &frame(r#"{"jsonrpc":"2.0","method":"stop"}"#));
        assert_eq!(running.end().code(), Some(0), "{when:?}");
    }
}

#[test]
fn bytes_that_std_has_read_ahead_from_standard_input_are_served() {
    let subject = Subject { command: || program("after a line"), ..SERVER };
    let mut running = Running::start(subject, Streams::Both, When::Later, Kind::Pipes);
    // `read_line` in the program reads the first request together with the line.
    write_all(running.input(), &[b"a line\n", &(SERVER.request)("with it")[..]].concat());
    running.read_preamble();
    running.set_nonblocking();
    running.expect("with it", Duration::ZERO);
    running.exchange(100_000, usize::MAX);
    running.finish();
}

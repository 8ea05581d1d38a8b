//! Hosts of real guests. The tests exchange frames, and end guests and their processes.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portway::codec::wipc::FrameType;
use portway::wipc::{Host, OwnedFrame};
use portway::{Client, Diagnostic, Framing, Transport};
use tokio::process::Command;
use tokio::time::timeout;

use crate::guests::{TEST_TIMEOUT, Test, guest};
use crate::program_trees::{SHAPES, Shape, Tree};

/// Returns a host, and the text that its guest prints between its frames.
fn host(role: &str) -> std::io::Result<(Host, Arc<Mutex<Vec<u8>>>)> {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&printed);
    let host = Host::spawn(&mut guest(role))?
        .with_receiver(|receiver| receiver.on_passthrough(move |bytes| listener.lock().unwrap().extend(bytes)));
    Ok((host, printed))
}

fn frame(frame_type: FrameType, payload: impl AsRef<[u8]>) -> OwnedFrame {
    OwnedFrame { frame_type, payload: payload.as_ref().to_vec() }
}

#[tokio::test]
async fn each_type_of_frame_goes_to_a_guest_and_back() -> Test {
    for role in ["echo", "async echo"] {
        let (mut host, printed) = host(role)?;
        for frame_type in [FrameType::Open, FrameType::Call, FrameType::Data] {
            for payload in [&b""[..], b"{}", &[0, 255, 10, 13], b"WIPC\x02\x01\0\0\0", &vec![7; 200_000]] {
                host.send(frame_type, payload).await?;
                assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(frame_type, payload)), "{role}");
            }
        }
        let status = timeout(TEST_TIMEOUT, host.close(b"bye")).await??;
        assert_eq!(status.code(), Some(0), "{role}");
        assert!(printed.lock().unwrap().starts_with(b"\nrunning 1 test\n"), "the printed text must be passed through");
    }
    Ok(())
}

#[tokio::test]
async fn a_guest_returns_close_and_its_host_sends_nothing_afterwards() -> Test {
    for role in ["echo", "async echo"] {
        let (mut host, _) = host(role)?;
        host.send(FrameType::Close, b"bye").await?;
        assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Close, "bye")));
        let refused = host.send(FrameType::Data, b"").await.unwrap_err();
        assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::BrokenPipe, "the guest has sent CLOSE"));
        assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
        assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(0));
    }
    Ok(())
}

#[tokio::test]
async fn frames_of_a_guest_after_its_close_are_received() -> Test {
    let (mut host, printed) = host("sends close")?;
    host.send(FrameType::Data, b"").await?;
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Close, "bye")));
    let call = timeout(TEST_TIMEOUT, host.receive()).await??.map(|frame| frame.frame_type);
    assert_eq!(call, Some(FrameType::Call));
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    assert!(printed.lock().unwrap().ends_with(b"and good night\n"));
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(4));
    Ok(())
}

#[tokio::test]
async fn an_incomplete_last_frame_of_a_guest_is_reported_and_passed_through() -> Test {
    let (mut host, printed) = host("torn")?;
    let problem = timeout(TEST_TIMEOUT, host.receive()).await?.unwrap_err();
    assert_eq!(problem.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(problem.to_string(), "the stream ended within a frame, after 13 of its bytes");
    assert!(printed.lock().unwrap().ends_with(b"text\nWIPC\x02\x0a\0\0\0half"));
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn a_guest_that_does_not_exit_is_killed() -> Test {
    let (mut host, _) = host("stubborn")?;
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Open, "")));
    let start = Instant::now();
    let status = timeout(TEST_TIMEOUT, host.with_grace(Duration::from_millis(200)).close(b"")).await??;
    assert_eq!(status.code(), None, "the guest must be killed");
    assert!((Duration::from_millis(200)..Duration::from_secs(5)).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_guest_that_does_not_read_is_killed_even_if_frames_are_queued() -> Test {
    let host = Host::spawn(Command::new("sleep").arg("600"))?.with_grace(Duration::from_millis(200));
    let sender = host.sender();
    let sending = tokio::spawn(async move { while sender.send(FrameType::Data, &[0; 100_000]).await.is_ok() {} });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let status = timeout(TEST_TIMEOUT, host.close(b"")).await??;
    assert_eq!(status.code(), None);
    timeout(TEST_TIMEOUT, sending).await??;
    Ok(())
}

#[tokio::test]
async fn a_panic_in_the_function_for_passthrough_does_not_end_the_channel() -> Test {
    let mut host = shell("echo one; printf 'WIPC\\003\\000\\000\\000\\000'; echo two; exec cat >/dev/null")?;
    let printed = Arc::new(Mutex::new(Vec::<u8>::new()));
    let listener = Arc::clone(&printed);
    host = host.with_receiver(|receiver| {
        receiver.on_passthrough(move |bytes| {
            listener.lock().unwrap().extend(bytes);
            std::panic::resume_unwind(Box::new("as the test wants it"));
        })
    });
    assert!(timeout(TEST_TIMEOUT, host.receive()).await??.is_some());
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(0));
    assert_eq!(*printed.lock().unwrap(), b"one\ntwo\n");
    Ok(())
}

fn host_of(tree: &Tree) -> std::io::Result<Host> {
    let words = tree.command();
    Ok(Host::spawn(Command::new(&words[0]).args(&words[1..]))?.with_grace(Duration::from_millis(200)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_descendant_of_a_guest_is_left_however_the_guest_ends() -> Test {
    let limit = Duration::from_secs(10);
    for shape in SHAPES {
        for handles_term in [true, false] {
            let tree = Tree::new(shape, handles_term)?;
            let host = host_of(&tree)?;
            // The script of the guest waits for a line.
            host.send(FrameType::Data, b"\n").await?;
            tree.wait()?;
            timeout(limit, host.close(b"")).await??;
            let limit = if handles_term { Duration::ZERO } else { limit };
            assert_eq!(tree.processes_after(limit), [""; 0], "{shape:?}, handles SIGTERM: {handles_term}");
            assert_eq!(tree.has_saved(), handles_term, "{shape:?}");
        }
    }
    for shape in [Shape::Shell, Shape::ForksAgain, Shape::OtherGroup] {
        for kills in [true, false] {
            let tree = Tree::new(shape, true)?;
            let host = host_of(&tree)?;
            host.send(FrameType::Data, b"\n").await?;
            tree.wait()?;
            if kills {
                timeout(limit, host.kill()).await??;
            } else {
                drop(host);
            }
            assert_eq!(tree.processes_after(limit), [""; 0], "{shape:?}, by kill(): {kills}");
        }
    }
    Ok(())
}

/// A shell command of a guest that sends `CLOSE`.
const SEND_CLOSE: &str = "printf 'WIPC\\001\\000\\000\\000\\000'";

fn shell(script: &str) -> std::io::Result<Host> {
    Host::spawn(Command::new("sh").args(["-c", script]))
}

#[tokio::test]
async fn a_guest_that_sends_close_and_stays_is_killed_two_seconds_later() -> Test {
    let mut host = shell(&format!("{SEND_CLOSE}; exec sleep 600"))?;
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Close, "")));
    let start = Instant::now();
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    let elapsed = start.elapsed();
    assert!((Duration::from_millis(1_900)..Duration::from_millis(3_500)).contains(&elapsed), "{elapsed:?}");
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), None, "the guest must be killed");
    Ok(())
}

#[tokio::test]
async fn a_guest_that_sends_close_and_stays_is_killed_even_if_its_host_does_not_receive() -> Test {
    let script = format!("echo $$; {SEND_CLOSE}; exec sleep 600");
    let printed = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&printed);
    let mut host = shell(&script)?
        .with_grace(Duration::from_millis(100))
        .with_receiver(|receiver| receiver.on_passthrough(move |bytes| listener.lock().unwrap().extend(bytes)));
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Close, "")));
    let pid = String::from_utf8(printed.lock().unwrap().clone())?.trim().parse()?;
    let pid = rustix::process::Pid::from_raw(pid).ok_or("the process must print its id")?;
    let start = Instant::now();
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(start.elapsed() < TEST_TIMEOUT, "the guest still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), None, "the guest must be killed");
    Ok(())
}

#[tokio::test]
async fn a_guest_that_sends_close_reads_the_end_of_its_input() -> Test {
    let mut host = shell(&format!("{SEND_CLOSE}; cat >/dev/null; exit 5"))?;
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, Some(frame(FrameType::Close, "")));
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(5));
    Ok(())
}

#[tokio::test]
async fn a_sender_that_waits_for_a_guest_fails_when_the_guest_sends_close_or_exits() -> Test {
    // In the second script, a child process keeps the input of the guest open after the guest has exited. The child
    // process reads nothing.
    let exits = "exec 3<&0; sleep 30 <&3 3<&- >/dev/null & sleep 0.2; exit 0";
    for (script, problem) in [
        (format!("sleep 0.2; {SEND_CLOSE}; exec sleep 600"), "the guest has sent CLOSE"),
        (exits.to_owned(), "the guest has exited"),
    ] {
        let host = shell(&script)?.with_grace(Duration::from_secs(600));
        let sender = host.sender();
        let sending = tokio::spawn(async move {
            loop {
                if let Err(refused) = sender.send(FrameType::Data, &[0; 100_000]).await {
                    break refused;
                }
            }
        });
        let mut host = host;
        let receiving = tokio::spawn(async move { while let Ok(Some(_)) = host.receive().await {} });
        let refused = timeout(TEST_TIMEOUT, sending).await??;
        assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::BrokenPipe, problem));
        receiving.abort();
    }
    Ok(())
}

#[tokio::test]
async fn after_the_host_sends_close_a_guest_reads_the_end_of_its_input_and_is_killed_if_it_stays() -> Test {
    for (script, code) in [("cat >/dev/null; exit 5", Some(5)), ("exec sleep 600", None)] {
        let mut host =
            shell(script)?.with_grace(if code.is_some() { Duration::MAX } else { Duration::from_millis(200) });
        host.send(FrameType::Close, b"").await?;
        assert_eq!(timeout(TEST_TIMEOUT / 2, host.receive()).await??, None, "{script}");
        assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), code, "{script}");
    }
    Ok(())
}

#[tokio::test]
async fn after_the_future_of_close_is_dropped_the_host_neither_reads_nor_sends() -> Test {
    // A child process of the guest keeps the input and the output of the guest open.
    let listener = Arc::new(());
    let captured = Arc::clone(&listener);
    let host = shell("exec 3<&0; sleep 30 <&3 3<&- & exec sleep 600")?
        .with_receiver(|receiver| receiver.on_passthrough(move |_| drop(Arc::clone(&captured))));
    let sender = host.sender();
    assert!(timeout(Duration::from_millis(50), host.close(b"")).await.is_err());
    let start = Instant::now();
    while Arc::strong_count(&listener) > 1 {
        assert!(start.elapsed() < TEST_TIMEOUT / 2, "the host must stop reading the output of the guest");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(timeout(TEST_TIMEOUT / 2, sender.send(FrameType::Data, b"")).await?.is_err());
    Ok(())
}

#[tokio::test]
async fn sending_to_a_guest_that_has_exited_fails_and_close_still_returns_the_status() -> Test {
    let mut host = Host::spawn(&mut Command::new("true"))?;
    assert_eq!(timeout(TEST_TIMEOUT, host.receive()).await??, None);
    let refused = timeout(TEST_TIMEOUT, async {
        loop {
            if let Err(refused) = host.send(FrameType::Data, &[0; 1_000]).await {
                break refused;
            }
        }
    });
    assert_eq!(refused.await?.kind(), ErrorKind::BrokenPipe);
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_missing_guest_is_an_error_at_once() {
    let problem = Host::spawn(&mut Command::new("/no/such/guest")).unwrap_err();
    assert_eq!(problem.kind(), ErrorKind::NotFound);
}

/// Asserts that the printed lines are whole: no frame is in the middle of a line that another thread has printed.
fn assert_lines_are_whole(printed: &[u8]) {
    let printed = String::from_utf8_lossy(printed);
    // The exit of the guest may cut the last line.
    let lines = printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let numbers: Vec<u64> = lines.filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
    assert!(numbers.len() > 10, "{} lines", numbers.len());
    // libtest prints the name of the test without a line end. The line `line 0` may follow this name on the same line.
    assert!(numbers[0] <= 1 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "a frame must not split a line");
}

#[tokio::test]
async fn frames_are_whole_among_the_output_of_other_threads() -> Test {
    for role in ["chatty", "chatty async"] {
        let (mut host, printed) = host(role)?;
        let lengths = (0..200).map(|number| number * 53).chain([3_000_000, 5_000_000]);
        let payloads: Vec<Vec<u8>> = lengths.map(|length| vec![b'\n'; length]).collect();
        let sender = host.sender();
        let sent = payloads.clone();
        let sending = tokio::spawn(async move {
            for payload in &sent {
                sender.send(FrameType::Data, payload).await.unwrap();
            }
        });
        for payload in &payloads {
            let received = timeout(TEST_TIMEOUT, host.receive()).await??;
            assert!(received == Some(frame(FrameType::Data, payload)), "{role}, {} bytes", payload.len());
        }
        sending.await?;
        // On a busy machine, the other thread may not have printed enough lines yet.
        for _ in 0..500 {
            if printed.lock().unwrap().len() > 1_000 {
                break;
            }
            let _ = timeout(Duration::from_millis(10), host.receive()).await;
        }
        timeout(TEST_TIMEOUT, host.close(b"")).await??;
        assert_lines_are_whole(&printed.lock().unwrap());
    }
    Ok(())
}

#[tokio::test]
async fn answers_are_whole_among_the_output_of_other_threads() -> Test {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&printed);
    let transport = Transport::child(&mut guest("chatty peer"), Framing::Wipc)?.on_diagnostic(move |diagnostic| {
        if let Diagnostic::Noise(bytes) = diagnostic {
            listener.lock().unwrap().extend(bytes);
        }
    });
    let client = Client::new(transport);
    for count in [1, 1_000, 2_000_000] {
        assert_eq!(
            timeout(TEST_TIMEOUT, client.call::<String>("repeat", &(count,))).await?.map(|text| text.len()),
            Ok(count)
        );
    }
    assert_lines_are_whole(&printed.lock().unwrap());
    Ok(())
}

#[tokio::test]
async fn ten_megabytes_go_both_ways_at_once() -> Test {
    let (mut host, _) = host("async echo")?;
    let sender = host.sender();
    let big = vec![0x57; 10_000_000];
    let sent = big.clone();
    let sending = tokio::spawn(async move {
        for _ in 0..4 {
            sender.send(FrameType::Data, &sent).await.unwrap();
        }
    });
    for _ in 0..4 {
        let received = timeout(TEST_TIMEOUT, host.receive()).await??;
        assert!(received.is_some_and(|frame| frame.payload == big));
    }
    sending.await?;
    assert_eq!(timeout(TEST_TIMEOUT, host.close(b"")).await??.code(), Some(0));
    Ok(())
}

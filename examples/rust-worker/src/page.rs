//! The code of the page. It calls the worker and shows the results.

use portway::{CallError, Client, Transport};
use wasm_bindgen::JsValue;
use web_sys::{Window, Worker, WorkerOptions, WorkerType};

use crate::CountPrimes;

/// Runs in the page.
pub(crate) async fn run(window: &Window) -> Result<(), JsValue> {
    let document = window.document().ok_or("no document")?;
    let show = |id: &str, text: &str| {
        if let Some(element) = document.get_element_by_id(id) {
            element.set_text_content(Some(text));
        }
    };

    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let worker = Worker::new_with_options("worker.js", &options)?;
    // Calls can start before the worker is ready, because the browser queues the messages.
    let client = Client::new(Transport::worker(&worker)?);

    let progress = document.get_element_by_id("progress").ok_or("no progress bar")?;
    let count: u32 = client
        .call("countPrimes", &CountPrimes { below: 200_000 })
        .on_progress(move |done: f64| {
            let _ = progress.set_attribute("value", &done.to_string());
        })
        .await?;
    show("count", &format!("There are {count} primes below 200 000."));

    match client.call::<u32>("countPrimes", &CountPrimes { below: u32::MAX }).await {
        Err(CallError::Remote(error)) => show("error", &error.to_string()),
        other => show("error", &format!("unexpected: {other:?}")),
    }

    // A dropped call is cancelled: the worker stops counting, and then handles the next call.
    drop(client.call::<u32>("countPrimes", &CountPrimes { below: 10_000_000 }).start());
    let small_count: u32 = client.call("countPrimes", &CountPrimes { below: 10 }).await?;
    show("after", &format!("There are {small_count} primes below 10."));
    Ok(())
}

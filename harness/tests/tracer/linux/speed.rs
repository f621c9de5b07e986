//! What tracing costs, side by side in one run.

use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use std::process::{Command, Stdio};

use super::sqlite::{WORKER, python};
use super::subject::{Run, Subject};

type Test = Box<dyn Fn(&Subject) -> Result<(), Failed> + Send>;

pub(crate) fn trials() -> Vec<(String, Test)> {
    vec![
        ("a_logged_call_costs_at_most_40_microseconds".to_owned(), Box::new(call)),
        ("a_traced_python_worker_takes_at_most_2_5_times_as_long".to_owned(), Box::new(worker)),
    ]
}

fn nanoseconds(output: &[u8]) -> Result<f64, Failed> {
    Ok(String::from_utf8_lossy(output).trim().parse::<f64>()?)
}

fn call(subject: &Subject) -> Result<(), Failed> {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let run = Run::new();
        let words = subject.words("dynamic", "many");
        let plain = Command::new(&words[0]).args(&words[1..]).current_dir(run.store()).output()?;
        std::fs::remove_file(run.store().join("many"))?;
        let traced = run.run(words);
        let recording = run.finish().map_err(|error| error.to_string())?;
        assert!(recording.ops.len() > 20_000);
        let cost = (nanoseconds(&traced.stdout)? - nanoseconds(&plain.stdout)?) / 20_000_000.0;
        println!("{cost:.1} µs a logged call");
        best = best.min(cost);
    }
    if best <= 40.0 { Ok(()) } else { Err(format!("{best:.1} µs").into()) }
}

fn worker(_: &Subject) -> Result<(), Failed> {
    let Some(python) = python() else { return Ok(()) };
    let (mut plain, mut traced) = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        for tracing in [false, true] {
            let run = Run::new();
            let words = vec![python.clone().into(), "-c".into(), WORKER.into(), "DELETE".into(), "EXTRA".into()];
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).current_dir(run.store()).stdout(Stdio::null());
            let mut command = if tracing { run.command(words) } else { command };
            let start = Instant::now();
            assert!(command.output()?.status.success());
            let took = start.elapsed();
            let least = if tracing { &mut traced } else { &mut plain };
            *least = took.min(*least);
            if tracing {
                run.finish().map_err(|error| error.to_string())?;
            }
        }
    }
    let times = traced.as_secs_f64() / plain.as_secs_f64();
    println!("{plain:?} plain, {traced:?} traced, {times:.2} times");
    if times <= 2.5 { Ok(()) } else { Err(format!("{times:.2} times").into()) }
}

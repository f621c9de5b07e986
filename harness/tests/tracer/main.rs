//! The tracer on real programs: what they did to a store is recorded whole, or refused by name. This file has a main of
//! its own because it is also the tracer. Without a C compiler the programs are missing, and their tests are shown as
//! ignored.

#![cfg_attr(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")), allow(unused))]

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod linux {
    pub(crate) mod clock;
    pub(crate) mod clock_rules;
    pub(crate) mod ends;
    pub(crate) mod hazards;
    pub(crate) mod peers;
    pub(crate) mod programs;
    pub(crate) mod speed;
    pub(crate) mod sqlite;
    pub(crate) mod subject;
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn main() -> std::process::ExitCode {
    use libtest_mimic::{Arguments, Trial};
    use linux::{clock, clock_rules, ends, hazards, peers, programs, speed, sqlite, subject};

    nack::tracer::be_the_tracer_if_asked();
    let arguments = Arguments::from_args();
    let supported = nack::tracer::supported();
    if let Err(why) = &supported {
        println!("unsupported here: {why}");
    }
    let subject = if supported.is_ok() && !arguments.list { subject::built() } else { None };
    let mut trials = Vec::new();
    for (name, test) in hazards::trials().into_iter().chain(ends::trials()).chain(programs::trials()) {
        let built = subject.clone();
        let missing = built.is_none();
        let trial = Trial::test(name, move || built.map_or(Ok(()), |built| test(&built)));
        trials.push(trial.with_ignored_flag(missing));
    }
    for (name, test) in sqlite::trials() {
        trials.push(Trial::test(name, test).with_ignored_flag(supported.is_err() || !sqlite::has_python()));
    }
    let timed = nack::tracer::clock_supported();
    if let Err(why) = &timed {
        println!("no time can be kept here: {why}");
    }
    trials.extend(clock::trials(timed.is_ok() && !arguments.list));
    trials.extend(clock_rules::trials(timed.is_ok() && !arguments.list));
    trials.extend(peers::trials(timed.is_ok()));
    for (name, measure) in speed::trials() {
        let built = subject.clone();
        // Numbers depend on the machine: they are asked for by `--ignored`.
        let trial = Trial::test(name, move || built.map_or(Ok(()), |built| measure(&built)));
        trials.push(trial.with_kind("measure").with_ignored_flag(true));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn main() {
    println!("unsupported here: the tracer is for Linux on x86-64");
}

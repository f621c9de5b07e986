//! Each documented exit code, from the binary itself; a failing suite must exit non-zero from every door.

use crate::common::Nack;
use rstest::rstest;

#[rstest]
#[case::a_run_that_holds(&["run", "order-relay"], 0)]
#[case::a_failing_case(&["run", "outbox/deliver", "--defect", "any-answer-is-success"], 1)]
#[case::a_failing_case_replayed(&["replay", "outbox/deliver/permanent+permanent", "--defect", "permanent-retried"], 1)]
#[case::unknown_flag(&["run", "--no-such-flag"], 2)]
#[case::unknown_subject(&["run", "--subject", "nobody"], 2)]
#[case::unknown_defect(&["run", "--defect", "no-such-defect"], 2)]
#[case::unknown_report(&["run", "--report", "pdf=x"], 2)]
#[case::bad_shard(&["run", "--shard", "3/2"], 2)]
#[case::bad_scale(&["run", "--deadline-scale", "0"], 2)]
#[case::no_jobs(&["run", "--jobs", "0"], 2)]
#[case::unknown_folder(&["run", "--contracts", "nowhere"], 2)]
#[case::required_and_not_covered(&["run", "outbox/paused", "--require", "outbox", "--subject", "reference"], 3)]
#[case::required_capability(&["run", "outbox/interrupt", "--require", "process", "--subject", "reference"], 3)]
#[case::not_covered_but_not_required(&["run", "outbox/paused"], 0)]
#[case::nothing_matched(&["run", "outbox/no-such-case"], 4)]
#[case::nothing_to_explain(&["explain", "outbox/no-such-case"], 4)]
#[case::nothing_to_list(&["list", "nobody"], 4)]
#[case::nothing_to_prove(&["prove", "nobody"], 4)]
#[case::nothing_to_replay(&["replay", "outbox/no-such-case"], 4)]
#[case::help(&["--help"], 0)]
#[case::version(&["--version"], 0)]
fn every_exit_code_means_what_it_says(#[case] args: &[&str], #[case] code: i32) {
    let _ = Nack::new().run(args).code(code).never_says("backtrace");
}

#[test]
fn a_contract_with_a_finding_is_2_and_names_the_line() {
    let nack = Nack::new();
    nack.write("contracts/x.toml", "format = 1\nname = \"x\"\nowner = \"me\"\n");
    let _ = nack.run(&["check"]).code(2).says("contracts/x.toml").says("format/missing").says("title");
    let _ = nack.run(&["run", "--contracts", "contracts"]).code(2).says("format/missing");
}

#[test]
fn a_prefix_that_matches_nothing_names_the_nearest() {
    let _ = Nack::new().run(&["run", "outbox/delivr"]).code(4).says("did you mean `outbox/deliver`?");
}

#[test]
fn a_surviving_mutant_is_5() {
    let nack = Nack::new();
    let outbox = include_str!("../../../../contracts/order-relay.toml");
    // The relay's defect is real; the check that is named for it never sees it.
    let wrong = outbox.replacen(
        "name      = \"mark-all\"\ndefect    = \"every row is marked\"\nkilled_by = [\"order-relay/relay/taken\"]\nby        = \"expect\"",
        "name      = \"mark-all\"\ndefect    = \"every row is marked\"\nkilled_by = [\"order-relay/relay/taken\"]\nby        = \"reply\"",
        1,
    );
    assert_ne!(outbox, wrong);
    nack.write("mine/order-relay.toml", &wrong);
    let _ = nack.run(&["prove", "--contracts", "mine"]).code(5).says("mark-all").says("red by expect");
}

#[test]
fn an_interrupt_is_130_and_leaves_nothing_behind() {
    let nack = Nack::new();
    let mut child = nack
        .command(&["prove", "--jobs", "1"])
        .env("TMPDIR", nack.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(std::time::Duration::from_millis(400));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let mine = format!("nack-{}-", child.id());
    let left: Vec<_> =
        std::fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(&mine)), "{left:?}");
}

#[test]
fn a_killed_nack_leaves_no_folder_behind() {
    let nack = Nack::new();
    let mut child = nack
        .command(&["prove", "--jobs", "1"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(std::time::Duration::from_millis(400));
    child.kill().expect("SIGKILL");
    child.wait().expect("it ended");
    let mine = format!("nack-{}-", child.id());
    let left = || {
        let places = [std::path::PathBuf::from("/dev/shm"), std::env::temp_dir()];
        let entries = places.into_iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).count()
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while left() > 0 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(left(), 0);
}

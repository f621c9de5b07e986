//! The guide to adapters is true: every command in it runs.

use std::process::Stdio;

use crate::common::Nack;

const GUIDE: &str = include_str!("../../../sdk/GUIDE.md");

#[test]
fn every_command_of_the_guide_runs() {
    let here = |tool: &str| {
        let version = std::process::Command::new(tool).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    if let Some(tool) = ["node", "sqlite3"].into_iter().find(|tool| !here(tool)) {
        assert!(std::env::var_os("CI").is_none(), "{tool} is required here");
        eprintln!("not covered: there is no {tool} on this machine");
        return;
    }
    let nack = Nack::new();
    let (_, binding) = GUIDE.split_once("```toml\n").expect("the guide shows a binding");
    let (binding, _) = binding.split_once("```").expect("it ends");
    nack.write("nack.toml", binding);
    nack.write("relay.mjs", include_str!("../../../../cases/subjects/node/relay.mjs"));
    nack.write("relay.sql", include_str!("../../../../cases/subjects/python/relay.sql"));
    let blocks = GUIDE.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let mut ran = 0;
    for line in blocks.flat_map(|(block, _)| block.lines()).filter(|line| line.starts_with("nack ")) {
        let args: Vec<&str> = line.split_whitespace().skip(1).collect();
        let _ = nack.run(&args).code(0);
        ran += 1;
    }
    assert!(ran >= 4, "{ran} commands");
    assert!(nack.path().join("nack.md").is_file() && nack.path().join("nack.xml").is_file());
}

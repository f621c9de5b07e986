//! The action and the example workflow: what GitHub would refuse, what would let an input be run as a script, and that
//! the scripts in them do what they say.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::Nack;

const ACTION: &str = include_str!("../../../github/action.yml");
const WORKFLOW: &str = include_str!("../../../github/workflow.yml");

fn yaml(text: &str) -> Value {
    serde_yaml_ng::from_str(text).expect("it is YAML")
}

#[track_caller]
fn valid(schema: &Value, text: &str) {
    let validator = jsonschema::validator_for(schema).expect("the schema is a schema");
    let found: Vec<String> =
        validator.iter_errors(&yaml(text)).map(|error| format!("{error} at {}", error.instance_path)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// What a composite action may hold, by GitHub's own description of it.
fn action_schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let step = json!({
        "type": "object",
        "required": ["run", "shell"],
        "additionalProperties": false,
        "properties": {
            "name": text, "id": text, "if": text, "run": text, "working-directory": text,
            "shell": { "enum": ["bash", "sh", "pwsh", "python"] },
            "env": { "type": "object", "additionalProperties": { "type": "string" } },
        },
    });
    json!({
        "type": "object",
        "required": ["name", "description", "runs"],
        "additionalProperties": false,
        "properties": {
            "name": text,
            "description": text,
            "branding": { "type": "object", "required": ["icon", "color"] },
            "inputs": { "type": "object", "additionalProperties": {
                "type": "object",
                "required": ["description"],
                "additionalProperties": false,
                "properties": { "description": text, "required": { "type": "boolean" }, "default": { "type": "string" } },
            } },
            "runs": {
                "type": "object",
                "required": ["using", "steps"],
                "additionalProperties": false,
                "properties": { "using": { "const": "composite" }, "steps": { "type": "array", "minItems": 1, "items": step } },
            },
        },
    })
}

/// What the jobs of a workflow may hold, as far as the example uses it.
fn workflow_schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let step = json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": [{ "required": ["uses"] }, { "required": ["run"] }],
        "properties": {
            "uses": { "type": "string", "pattern": "^[^@ ]+@[^@ ]+$" },
            "run": text, "name": text, "if": text, "with": { "type": "object" }, "env": { "type": "object" },
        },
    });
    json!({
        "type": "object",
        "required": ["on", "jobs", "permissions"],
        "additionalProperties": false,
        "properties": {
            "name": text,
            "on": { "type": "object", "additionalProperties": false,
                    "properties": { "pull_request": {}, "push": { "type": "object" } } },
            "permissions": { "const": { "contents": "read" } },
            "jobs": { "type": "object", "minProperties": 1, "additionalProperties": {
                "type": "object",
                "required": ["runs-on", "steps", "timeout-minutes"],
                "additionalProperties": false,
                "properties": {
                    "runs-on": text, "needs": text, "if": text, "timeout-minutes": { "type": "integer" },
                    "strategy": { "type": "object", "required": ["matrix"] },
                    "steps": { "type": "array", "minItems": 1, "items": step },
                },
            } },
        },
    })
}

#[test]
fn both_files_hold_what_github_takes() {
    valid(&action_schema(), ACTION);
    valid(&workflow_schema(), WORKFLOW);
}

/// The scripts of the action, in order.
fn scripts() -> Vec<String> {
    let action = yaml(ACTION);
    let steps = action["runs"]["steps"].as_array().expect("steps");
    steps.iter().map(|step| step["run"].as_str().expect("a script").to_owned()).collect()
}

#[test]
fn no_input_is_pasted_into_a_script() {
    for script in scripts() {
        assert!(!script.contains("${{"), "{script}");
    }
    let jobs = yaml(WORKFLOW)["jobs"].clone();
    let steps =
        jobs.as_object().expect("jobs").values().flat_map(|job| job["steps"].as_array().expect("steps").clone());
    for script in steps.filter_map(|step| step["run"].as_str().map(str::to_owned)) {
        assert!(!script.contains("${{"), "{script}");
    }
}

#[test]
fn the_workflow_gives_the_action_only_inputs_that_it_has() {
    let (action, jobs) = (yaml(ACTION), yaml(WORKFLOW)["jobs"].clone());
    let inputs = action["inputs"].as_object().expect("inputs").clone();
    let used = jobs["cases"]["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("/harness/github@")));
    for name in used.expect("it uses the action")["with"].as_object().expect("inputs").keys() {
        assert!(inputs.contains_key(name), "{name}");
    }
    // Every input reaches a step by its environment, or by where the step runs.
    for name in inputs.keys() {
        assert!(ACTION.contains(&format!("${{{{ inputs.{name}")), "{name}");
    }
}

#[test]
fn the_scripts_end_as_nack_ends() {
    let nack = Nack::new();
    let scripts = scripts();
    let run = |script: &str, env: &[(&str, &str)]| {
        let mut command = Command::new("bash");
        // As GitHub starts a script.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(nack.path());
        command.env("NACK", env!("CARGO_BIN_EXE_nack")).env("GITHUB_STEP_SUMMARY", nack.path().join("summary.md"));
        let defaults = [("CASES", "order-relay/drain order-relay/empty"), ("SHARD", ""), ("REPORT", "nack.json")];
        command.envs(defaults).envs(env.iter().copied());
        let output = command.output().expect("bash starts");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = run(&scripts[1], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("::notice title=nack::held"), "{said}");
    assert!(nack.path().join("nack.json").is_file());
    assert_eq!(run(&scripts[1], &[("SHARD", "3/2")]).0, Some(2));
    assert_eq!(run(&scripts[1], &[("CASES", "order-relay/nothing")]).0, Some(4));
    assert_eq!(run(&scripts[1], &[("CASES", "$(touch owned) `touch owned`")]).0, Some(4));
    assert!(!nack.path().join("owned").exists());

    let outbox = include_str!("../../../../contracts/outbox.toml");
    nack.write("old/outbox.toml", outbox);
    nack.write("contracts/outbox.toml", &outbox.replacen("lease  = 60 ", "lease  = 90 ", 1));
    let (code, said) = run(&scripts[0], &[("BASE", "old")]);
    assert_eq!(code, Some(1), "{said}");
    let summary = std::fs::read_to_string(nack.path().join("summary.md")).expect("a summary");
    assert!(summary.contains("## nack: held") && summary.contains("## nack diff: weakened"), "{summary}");
}

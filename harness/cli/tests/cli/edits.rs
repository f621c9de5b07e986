//! The lists of edits beside the shipped programs: each plants one defect in a copy of its program, by replacing what
//! stands at one place of it, and must be killed as the contract says.

use std::fs;
use std::path::Path;

use indexmap::IndexMap;
use nack_contracts::Contract;
use serde_json::Value;

use crate::common::Nack;

/// A defect, and what must kill it: each of these cases, through each of these checks.
pub(crate) struct Edit {
    name: String,
    file: String,
    find: String,
    replace: String,
    killed_by: Vec<String>,
    by: Vec<String>,
}

/// The edits of a list. What kills an edit stands beside it, or is what kills the contract's mutant of its name.
pub(crate) fn listed(list: &Path) -> Vec<Edit> {
    let text = fs::read_to_string(list).expect("the list is shipped");
    let list: toml::Table = text.parse().expect("it is TOML");
    let word = |table: &toml::Table, key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let contract = word(&list, "contract").map(|name| shipped(&name));
    let edits = list["edit"].as_array().expect("it lists edits").iter().filter_map(toml::Value::as_table);
    let edit = |edit: &toml::Table| {
        let name = word(edit, "name").expect("an edit has a name");
        let (killed_by, by) = match (word(edit, "killed_by"), &contract) {
            (Some(case), _) => (vec![case], Vec::new()),
            (None, None) => panic!("{name} does not say what kills it"),
            (None, Some(contract)) => {
                let mutant = contract.mutants.iter().find(|mutant| mutant.name == name);
                let mutant = mutant.unwrap_or_else(|| panic!("{} has no mutant {name}", contract.name));
                let cases = mutant.killed_by.iter().map(|entry| entry.item.clone()).collect();
                (cases, mutant.by.iter().map(|check| check.item.to_string()).collect())
            }
        };
        Edit {
            file: word(edit, "file").or_else(|| word(&list, "file")).expect("it says in which file"),
            find: word(edit, "find").expect("it says what it replaces"),
            replace: word(edit, "replace").expect("it says by what"),
            name,
            killed_by,
            by,
        }
    };
    edits.map(edit).collect()
}

/// The edit of this name.
pub(crate) fn named(list: &Path, name: &str) -> Edit {
    listed(list).into_iter().find(|edit| edit.name == name).unwrap_or_else(|| panic!("there is no edit {name}"))
}

/// A contract that ships with nack.
pub(crate) fn shipped(name: &str) -> Contract {
    let file = format!("contracts/{name}.toml");
    let source = nack_contracts::shipped().into_iter().find(|source| source.file == file).expect("it ships");
    Contract::read(source, &IndexMap::new()).expect("it reads")
}

/// Puts `to` where the file reads `from`. An edit that misses would test the sound program.
pub(crate) fn replace_once(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("the program was copied");
    assert_eq!(text.matches(from).count(), 1, "{from:?} is not at one place of {}", file.display());
    fs::write(file, text.replace(from, to)).expect("it can be written");
}

impl Edit {
    /// Makes the edit in a folder that holds a copy of the program.
    pub(crate) fn make(&self, folder: &Path) {
        replace_once(&folder.join(&self.file), &self.find, &self.replace);
    }

    /// Runs what must kill the edited subject. Cases that it cannot be given kill nothing, and one at least must.
    pub(crate) fn must_be_killed(&self, nack: &Nack, subject: &str) {
        let cases: Vec<&str> = self.killed_by.iter().map(String::as_str).collect();
        let args = ["run", "--subject", subject, "--jobs", "2", "--report", "json=nack.json"];
        let _ = nack.run(&[&args[..], &cases].concat()).code(1);
        let text = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        let reports = report["cases"].as_array().expect("it lists cases");
        let mut killed = 0;
        for entry in cases {
            let below = |case: &&Value| {
                let name = case["name"].as_str().expect("a case has a name");
                nack_cases::below(name, entry) && case["verdict"] != "not_covered"
            };
            let given: Vec<&Value> = reports.iter().filter(below).collect();
            if !given.is_empty() {
                killed += 1;
                assert!(given.iter().any(|case| self.is_killed_by(case)), "{} lives: {entry}: {given:#?}", self.name);
            }
        }
        assert!(killed > 0, "nothing that must kill {} was run", self.name);
    }

    fn is_killed_by(&self, case: &Value) -> bool {
        let checks = case["checks"].as_array().expect("it lists checks");
        let broke = |wanted: &String| checks.iter().any(|check| check["name"] == *wanted && check["held"] == false);
        case["verdict"] == "fail" && self.by.iter().all(broke)
    }
}

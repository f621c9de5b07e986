//! What the reports of all audits share: the contract, what was audited, and how it is audited again.

use nack_contracts::{Contract, Span, freeze};
use nack_reports::{CaseReport, ContractInfo, Counts, Exit, Place, Report, SubjectInfo, Verdict};

/// What a report says besides what was counted.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The name of the log.
    pub subject: String,
    /// Its files.
    pub files: Vec<String>,
    /// The command that audits it again, without the rule.
    pub command: String,
    /// Parameters of the contract that a section overrides.
    pub overrides: indexmap::IndexMap<String, i64>,
}

/// A report before anything is counted.
pub(crate) struct Frame<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) about: &'a About,
}

impl Frame<'_> {
    /// Where a part of the contract stands.
    pub(crate) fn place(&self, span: &Span) -> Place {
        let source = &self.contract.source;
        Place { file: source.file.clone(), line: source.line(span.start) }
    }

    /// A case about which nothing is known yet: failed.
    pub(crate) fn blank(&self, name: &str, rule: &str, why: &str, span: &Span) -> CaseReport {
        let about = self.about;
        CaseReport {
            name: format!("{}/audit/{name}", self.contract.name),
            subject: about.subject.clone(),
            verdict: Verdict::Fail,
            because: None,
            rule: rule.to_owned(),
            why: why.to_owned(),
            source: self.place(span),
            rows: Vec::new(),
            samples: indexmap::IndexMap::new(),
            fault: Vec::new(),
            points: None,
            checks: Vec::new(),
            broken: None,
            expected: None,
            observed: None,
            timeline: Vec::new(),
            said: Vec::new(),
            found: None,
            notes: Vec::new(),
            by_hand: Vec::new(),
            replay: about.command.clone(),
            elapsed_us: 0,
        }
    }

    /// The report of these cases.
    pub(crate) fn finish(
        &self,
        cases: Vec<CaseReport>,
        closing: Vec<String>,
        adapter: &str,
        capabilities: Vec<String>,
    ) -> Report {
        let (contract, about) = (self.contract, self.about);
        Report {
            format: 1,
            nack: env!("CARGO_PKG_VERSION").to_owned(),
            seed: 0,
            shard: None,
            contracts: vec![ContractInfo {
                name: contract.name.clone(),
                version: contract.version,
                digest: freeze::digest(contract),
                file: contract.source.file.clone(),
                overrides: about.overrides.clone(),
            }],
            subjects: vec![SubjectInfo {
                name: about.subject.clone(),
                contract: contract.name.clone(),
                adapter: adapter.to_owned(),
                store: about.files.join(", "),
                capabilities,
            }],
            counts: Counts::of(&cases),
            exit: cases.iter().map(CaseReport::exit).fold(Exit::Held, Exit::and).code(),
            cases,
            proof: None,
            closing,
            elapsed_ms: 0,
        }
    }
}

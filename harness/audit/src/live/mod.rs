//! Live databases, only looked at: unique indexes in the catalogue, closed words, rules that need no more than the tables
//! as they are, and rows that stand where nobody comes for them. All is read in one snapshot, and nothing is written.

#[cfg(feature = "postgres")]
mod postgres;
mod queries;
mod sqlite;

use std::time::Duration;

use indexmap::IndexMap;
use nack_contracts::model::{Base, Contract, Standing};
use nack_reports::{Because, BecauseKind, CaseReport, Check, Found, Offender, Report, Verdict};

use crate::AuditError;
use crate::frame::{About, Frame};
use crate::report::{held, not_covered};
use queries::{Queries, Relation};

/// How many offenders of each kind are shown.
const SHOWN: u64 = 5;

/// How a live database is looked at.
#[derive(Clone, Debug)]
pub struct Live {
    /// `sqlite:FILE`, a file, or a connection string of PostgreSQL.
    pub place: String,
    /// By the contract's store: the query that reads it, with the contract's column names. Without one, a table of its
    /// name is read.
    pub observe: IndexMap<String, String>,
    /// By the contract's column: the database's word → the contract's.
    pub words: IndexMap<String, IndexMap<String, String>>,
    /// How much of the rows is looked at, in percent, where that is enough.
    pub sample: Option<f64>,
    /// How long one query may take.
    pub within: Duration,
    /// Epoch seconds now, against which leases are held.
    pub now: i64,
}

/// Why a query came to nothing.
#[derive(Debug)]
enum QueryError {
    /// The database does not take it, in its own words.
    Refused(String),
    /// It took too long.
    Slow,
}

/// One row, as its columns and their texts.
type Row = Vec<(String, Option<String>)>;

/// The table and the column that a column of a query comes from.
type Origin = (String, String);

/// A database that is only looked at.
trait Engine {
    /// The columns that a query returns, each with the table and column it comes from, if it is one.
    fn columns(&mut self, sql: &str) -> Result<Vec<(String, Option<Origin>)>, QueryError>;

    /// How many rows a query returns, and the first ones.
    fn rows(&mut self, sql: &str) -> Result<(u64, Vec<Row>), QueryError>;

    /// Whether a full unique index on exactly these columns is in the catalogue.
    fn has_unique_index(&mut self, table: &str, columns: &[&str]) -> Result<bool, QueryError>;

    /// What its SQL calls a random number below 100.
    fn roll(&self) -> &'static str;
}

/// Looks at a database.
///
/// # Errors
/// A database that cannot be opened.
pub fn audit(contract: &Contract, live: &Live, about: &About) -> Result<Report, AuditError> {
    let mut engine = open(live)?;
    let mut relations = IndexMap::new();
    let mut missing = IndexMap::new();
    for (name, store) in &contract.stores {
        match Relation::of(name, store, live, engine.as_mut()) {
            Ok(relation) => {
                relations.insert(name.clone(), relation);
            }
            Err(why) => {
                missing.insert(name.clone(), why);
            }
        }
    }
    if relations.is_empty() {
        let why = missing.first().map_or(String::new(), |(_, why)| why.clone());
        let message = format!(
            "no store of `{}` can be read there: {why}. Say in nack.toml how: [subject.NAME] observe.STORE = \"SELECT …\", and name it with --subject",
            contract.name
        );
        return Err(AuditError::Usage(message));
    }
    let queries = Queries { contract, live, relations: &relations, roll: engine.roll() };
    let frame = Frame { contract, about };
    let mut look = Look { frame, queries, engine: engine.as_mut(), cases: Vec::new() };
    look.words();
    look.gates();
    look.keys();
    look.invariants();
    if let Some(audit) = &contract.audit {
        audit.standing.iter().for_each(|rule| look.standing(rule));
    }
    let cases = look.cases;
    Ok(Frame { contract, about }.finish(cases, closing(live, &missing), "database", relations.into_keys().collect()))
}

fn open(live: &Live) -> Result<Box<dyn Engine>, AuditError> {
    if live.place.starts_with("postgres://") || live.place.starts_with("postgresql://") {
        #[cfg(feature = "postgres")]
        return Ok(Box::new(postgres::Postgres::open(&live.place, live.within)?));
        #[cfg(not(feature = "postgres"))]
        return Err(AuditError::Usage("this nack was built without PostgreSQL".to_owned()));
    }
    let path = live.place.strip_prefix("sqlite:").unwrap_or(&live.place);
    Ok(Box::new(sqlite::Sqlite::open(std::path::Path::new(path), live.within)?))
}

struct Look<'a> {
    frame: Frame<'a>,
    queries: Queries<'a>,
    engine: &'a mut dyn Engine,
    cases: Vec<CaseReport>,
}

impl Look<'_> {
    /// Every closed word of every store.
    fn words(&mut self) {
        for (store, spec) in &self.queries.contract.stores {
            for (column, ty) in &spec.columns {
                let Base::Domain(domain) = &ty.base else { continue };
                let name = format!("words/{store}.{column}");
                let why = format!("Every `{column}` of {store} is a word of `{domain}`.");
                let case = self.frame.blank(&name, &format!("words {store}.{column}"), &why, &spec.span);
                let sql = self.queries.stray_words(store, column, ty, domain);
                let classes = self.queries.contract.domains[domain].classes.iter();
                let words: Vec<&str> = classes.map(|class| class.name.as_str()).collect();
                self.look(case, "vocabulary", sql, &format!("one of {}", words.join(", ")));
            }
        }
    }

    /// Every unique index that the schema must have, and what it would have refused.
    fn gates(&mut self) {
        for gate in &self.queries.contract.gates {
            let mut case =
                self.frame.blank(&format!("gate/{}", gate.name), &format!("gate {}", gate.name), &gate.why, &gate.span);
            let columns = gate.unique.join(", ");
            match self.queries.origin(&gate.store, &gate.unique) {
                Err(why) => not_covered(&mut case, why),
                Ok((table, own)) => {
                    let own: Vec<&str> = own.iter().map(String::as_str).collect();
                    let check = format!("gate:{}", gate.name);
                    match self.engine.has_unique_index(&table, &own) {
                        Ok(true) => pass(&mut case, &check),
                        Ok(false) => {
                            let expected = format!("a full unique index on {table}({})", own.join(", "));
                            fail(&mut case, &check, expected, "none is in the catalogue".to_owned(), String::new());
                        }
                        Err(error) => trouble(&mut case, &error),
                    }
                }
            }
            self.cases.push(case);
            let why = format!("What the index of `{}` would refuse is not there yet.", gate.name);
            let name = format!("duplicates/{}", gate.name);
            let case = self.frame.blank(&name, &format!("duplicates {columns}"), &why, &gate.span);
            let sql = self.queries.duplicates(&gate.store, &gate.unique);
            self.look(case, "duplicates", sql, &format!("each {columns} once"));
        }
    }

    /// The columns that name a row name one.
    fn keys(&mut self) {
        for (store, spec) in self.queries.contract.stores.iter().filter(|(_, spec)| !spec.key.is_empty()) {
            let why = format!("A row of {store} is named by its {} alone.", spec.key.join(" and "));
            let name = format!("duplicates/{store}.{}", spec.key.join("+"));
            let case = self.frame.blank(&name, &format!("duplicates {store}"), &why, &spec.span);
            let sql = self.queries.duplicates(store, &spec.key);
            self.look(case, "duplicates", sql, &format!("each {} once", spec.key.join(", ")));
        }
    }

    /// The rules in SQL that need only the tables as they are.
    fn invariants(&mut self) {
        for invariant in &self.queries.contract.invariants {
            let name = format!("invariant/{}", invariant.name);
            let rule = format!("invariant {}", invariant.name);
            let mut case = self.frame.blank(&name, &rule, &invariant.why, &invariant.span);
            if self.queries.reads_only_stores(&invariant.sql) {
                let sql = self.queries.whole(&invariant.sql);
                self.look(case, &format!("invariant:{}", invariant.name), sql, "no row breaks it");
            } else {
                let why = "it needs what was there before, what was sent or what was replied; a table shows none of it";
                not_covered(&mut case, why.to_owned());
                self.cases.push(case);
            }
        }
    }

    fn standing(&mut self, rule: &Standing) {
        let name = format!("standing/{}", rule.name);
        let case = self.frame.blank(&name, &format!("standing {}", rule.name), &rule.why, &rule.span);
        let sql = self.queries.sampled(&rule.sql);
        self.look(case, "standing", sql, "no row stands so");
    }

    /// Asks a query that must return no row.
    fn look(&mut self, mut case: CaseReport, check: &str, sql: Result<String, String>, expected: &str) {
        match sql.map(|sql| (self.engine.rows(&sql), sql)) {
            Err(why) => not_covered(&mut case, why),
            Ok((Err(error), _)) => trouble(&mut case, &error),
            Ok((Ok((0, _)), _)) => pass(&mut case, check),
            Ok((Ok((count, rows)), sql)) => {
                let shown: Vec<String> = rows.iter().map(|row| self.queries.shown(&sql, row)).collect();
                let more = count.saturating_sub(shown.len() as u64);
                let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
                let of = if self.queries.live.sample.is_some() { " of the sample" } else { "" };
                let words = if count == 1 { format!("1 row{of}") } else { format!("{count} rows{of}") };
                fail(&mut case, check, expected.to_owned(), format!("{}{more}", shown.join("\n")), words);
                let offender = |says: String| Offender { place: case.rule.clone(), says };
                let offenders = shown.into_iter().map(offender).collect();
                case.found =
                    Some(Found { lines: count, broken: count, share: 0.0, first: None, last: None, offenders });
            }
        }
        self.cases.push(case);
    }
}

fn pass(case: &mut CaseReport, check: &str) {
    case.verdict = Verdict::Pass;
    case.checks.push(held(check));
}

fn fail(case: &mut CaseReport, check: &str, expected: String, observed: String, words: String) {
    case.checks.push(Check {
        name: check.to_owned(),
        held: Some(false),
        words,
        expected: expected.clone(),
        observed: observed.clone(),
    });
    (case.expected, case.observed) = (Some(expected), Some(observed));
}

fn trouble(case: &mut CaseReport, error: &QueryError) {
    match error {
        QueryError::Refused(why) => not_covered(case, format!("the database does not take the query: {why}")),
        QueryError::Slow => {
            case.verdict = Verdict::Inconclusive;
            case.because = Some(Because {
                kind: BecauseKind::Silence,
                detail: "the query took too long; give it more with --within, or look at a part with --sample"
                    .to_owned(),
            });
        }
    }
}

fn closing(live: &Live, missing: &IndexMap<String, String>) -> Vec<String> {
    let mut out: Vec<String> = missing.iter().map(|(store, why)| format!("{store} was not looked at: {why}")).collect();
    if let Some(percent) = live.sample {
        out.push(format!(
            "{percent} % of the rows were looked at, chosen at random: what is not in the sample is not known"
        ));
    }
    out.push(
        "tables show what stands now: how it came about, what was sent and what was promised, they do not show"
            .to_owned(),
    );
    out.push("a worker that was in the middle of something is seen in the middle of it".to_owned());
    out
}

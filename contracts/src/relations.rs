//! What SQL can see: the relations of a contract as tables of an in-memory SQLite, in the contract's own words.
//! The linter prepares every invariant against them, and the harness loads them with what it observed.

use crate::model::Contract;

/// The columns of the relation `reply`.
pub const REPLY_COLUMNS: [&str; 6] = ["n", "worker", "call", "outcome", "word", "value"];

/// One relation: a table of the judging database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<String>,
}

/// All relations of a contract: for each store `S` also `S_given` and `S_history`, each effect, and `reply`.
#[must_use]
pub fn relations(contract: &Contract) -> Vec<Relation> {
    let mut out = Vec::new();
    for (name, store) in &contract.stores {
        let columns: Vec<String> = store.columns.keys().cloned().collect();
        let old = columns.iter().map(|column| format!("old_{column}"));
        let history = std::iter::once("n".to_owned()).chain(columns.iter().cloned()).chain(old).collect();
        out.push(Relation { name: name.clone(), columns: columns.clone() });
        out.push(Relation { name: format!("{name}_given"), columns });
        out.push(Relation { name: format!("{name}_history"), columns: history });
    }
    for (name, effect) in &contract.effects {
        let own = ["n", "worker"].into_iter().map(String::from);
        let columns = own.chain(effect.columns.keys().cloned()).chain(["answer".to_owned(), "sample".to_owned()]);
        out.push(Relation { name: name.clone(), columns: columns.collect() });
    }
    out.push(Relation { name: "reply".to_owned(), columns: REPLY_COLUMNS.map(String::from).to_vec() });
    out
}

/// The statements that make the relations as empty tables. Columns have no type, so a value keeps its own.
#[must_use]
pub fn schema(contract: &Contract) -> String {
    let table = |relation: &Relation| {
        let columns: Vec<String> = relation.columns.iter().map(|column| quote(column)).collect();
        format!("CREATE TABLE {} ({});\n", quote(&relation.name), columns.join(", "))
    };
    relations(contract).iter().map(table).collect()
}

/// An SQL identifier.
#[must_use]
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

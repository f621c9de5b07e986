//! Which table, columns and words of a database are those of a contract, by the names that people give such things.

use indexmap::IndexMap;
use nack_contracts::Contract;
use nack_contracts::model::{Base, Store};

use super::look::{Column, Table};

/// Other names that people give to a contract's column or word.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("id", &["uuid", "guid", "message_id", "msg_id", "job_id", "key"]),
    ("state", &["status", "phase", "stage"]),
    ("attempts", &["tries", "attempt", "attempt_count", "retries", "retry_count", "num_attempts"]),
    ("payload", &["body", "data", "message", "content", "event", "json"]),
    ("created", &["created_at", "enqueued_at", "inserted_at", "queued_at", "added_at", "create_time"]),
    (
        "leased_until",
        &["locked_until", "lease_until", "lock_expires_at", "lease_expires_at", "visible_at", "reserved_until"],
    ),
    ("row_key", &["external_key", "external_id", "import_key", "client_key", "key"]),
    ("email", &["mail", "email_address"]),
    ("display_name", &["name", "full_name", "title"]),
    ("order_id", &["order"]),
    ("amount", &["sum", "total", "price"]),
    ("pending", &["queued", "new", "ready", "waiting", "scheduled", "open"]),
    ("inflight", &["working", "processing", "in_progress", "claimed", "sending", "locked", "running", "reserved"]),
    ("sent", &["delivered", "done", "completed", "complete", "success", "succeeded", "published"]),
    ("dead", &["failed", "dead_letter", "error", "gave_up", "discarded", "cancelled", "undeliverable"]),
    (
        "outbox",
        &["mail_queue", "outbox_messages", "messages", "message_queue", "jobs", "queue", "emails", "mails", "events"],
    ),
    ("members", &["people", "users", "persons", "contacts", "accounts", "customers"]),
    ("processed", &["processed_events", "inbox", "seen", "handled"]),
];

/// How well one name fits another: 0 is not at all.
fn fit(wanted: &str, name: &str) -> usize {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let (wanted_plain, name_plain) = (plain(wanted), plain(name));
    if wanted_plain == name_plain {
        return 100;
    }
    let others = SYNONYMS.iter().find(|(word, _)| *word == wanted).map_or(&[][..], |(_, others)| others);
    if let Some(at) = others.iter().position(|other| plain(other) == name_plain) {
        return 80 - at;
    }
    let near = others.iter().chain([&wanted]).any(|other| other.len() > 3 && name_plain.contains(&plain(other)));
    if near { 40 } else { 0 }
}

/// A store of the contract in somebody's table.
#[derive(Clone, Debug)]
pub(super) struct Guess<'d> {
    pub(super) table: &'d Table,
    /// The table's column for each of the contract's.
    pub(super) columns: IndexMap<String, &'d Column>,
    /// The contract's columns that were not found.
    pub(super) missing: Vec<String>,
    /// By the contract's column: the table's word for each of the contract's.
    pub(super) words: IndexMap<String, IndexMap<String, String>>,
}

/// The table that fits a store best, if one fits at all.
pub(super) fn guess<'d>(contract: &Contract, name: &str, store: &Store, tables: &'d [Table]) -> Option<Guess<'d>> {
    let of = |table: &'d Table| {
        let guess = columns(contract, store, table);
        let score = fit(name, &table.name) + 100 * guess.columns.len();
        (score, guess)
    };
    let (_, best) = tables.iter().map(of).max_by_key(|(score, _)| *score)?;
    (best.columns.len() * 2 > store.columns.len()).then_some(best)
}

fn columns<'d>(contract: &Contract, store: &Store, table: &'d Table) -> Guess<'d> {
    let mut guess = Guess { table, columns: IndexMap::new(), missing: Vec::new(), words: IndexMap::new() };
    let mut free: Vec<&Column> = table.columns.iter().collect();
    // The best pairs first, so that a good name is not taken by a column that it fits less.
    let mut pairs: Vec<(usize, &String, &Column)> = store
        .columns
        .keys()
        .flat_map(|wanted| table.columns.iter().map(move |column| (fit(wanted, &column.name), wanted, column)))
        .filter(|(score, ..)| *score > 0)
        .collect();
    pairs.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    let mut found: IndexMap<&String, &Column> = IndexMap::new();
    for (_, wanted, column) in pairs {
        if !found.contains_key(wanted) && free.iter().any(|other| other.name == column.name) {
            free.retain(|other| other.name != column.name);
            found.insert(wanted, column);
        }
    }
    for (wanted, ty) in &store.columns {
        match found.get(wanted) {
            Some(column) => {
                guess.columns.insert(wanted.clone(), column);
                if let Base::Domain(domain) = &ty.base {
                    let known = closed_words(contract, domain);
                    guess.words.extend(words(&known, &column.words).map(|map| (wanted.clone(), map)));
                }
            }
            None => guess.missing.push(wanted.clone()),
        }
    }
    guess
}

/// The words of a closed vocabulary.
pub(super) fn closed_words(contract: &Contract, domain: &str) -> Vec<String> {
    let domain = &contract.domains[domain];
    let own = domain.classes.iter().enumerate().filter(|(index, _)| domain.otherwise != Some(*index));
    let samples = own.flat_map(|(_, class)| &class.samples);
    samples.filter_map(|sample| Some(sample.node.value().as_text()?.to_owned())).collect()
}

/// The table's words for the contract's, unless they are the same. Each is used once; what fits nothing is left out.
fn words(known: &[String], seen: &[String]) -> Option<IndexMap<String, String>> {
    if known.iter().all(|word| seen.is_empty() || seen.contains(word)) {
        return None;
    }
    let mut free: Vec<&String> = seen.iter().collect();
    let mut map = IndexMap::new();
    for word in known {
        let best = free.iter().copied().max_by_key(|own| fit(word, own)).filter(|own| fit(word, own) > 0);
        let own = best.cloned().unwrap_or_else(|| word.clone());
        free.retain(|other| **other != own);
        map.insert(own, word.clone());
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_by_what_people_call_them() {
        let known = ["pending", "inflight", "sent", "dead"].map(str::to_owned);
        let seen = ["delivered", "failed", "queued", "working"].map(str::to_owned);
        let map = words(&known, &seen).expect("they differ");
        let expected = [("queued", "pending"), ("working", "inflight"), ("delivered", "sent"), ("failed", "dead")];
        assert_eq!(map.iter().map(|(own, word)| (own.as_str(), word.as_str())).collect::<Vec<_>>(), expected);
        assert_eq!(words(&known, &known), None);
    }

    #[test]
    fn a_word_that_nobody_used_yet_stays_the_contract_s() {
        let known = ["pending", "sent"].map(str::to_owned);
        let map = words(&known, &["delivered".to_owned()]).expect("they differ");
        assert_eq!(map.get("delivered").map(String::as_str), Some("sent"));
        assert_eq!(map.get("pending").map(String::as_str), Some("pending"));
    }
}

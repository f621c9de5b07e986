//! The queries that a live database is asked, in the contract's words: each store is read through what a binding says of
//! it, under a name of its own, and rules in SQL see it in the place of their store.

use indexmap::IndexMap;
use nack_contracts::Value;
use nack_contracts::model::{Base, Contract, Store, Type};
use nack_contracts::relations::{quote, relations};

use super::{Engine, Live, QueryError, Row};

/// What stands before a store's name in the queries, since a table may have that name itself.
const PREFIX: &str = "observed_";

/// A store as it is read.
pub(super) struct Relation {
    /// The query.
    observe: String,
    /// The contract's columns that it returns.
    columns: Vec<String>,
    /// The table and column that each comes from.
    origins: IndexMap<String, (String, String)>,
}

impl Relation {
    /// Looks at what a store's query returns, or says why it returns nothing.
    pub(super) fn of(name: &str, store: &Store, live: &Live, engine: &mut dyn Engine) -> Result<Relation, String> {
        let own = live.observe.get(name).map(|sql| sql.trim().trim_end_matches(';').to_owned());
        let observe = own.unwrap_or_else(|| format!("SELECT * FROM {}", quote(name)));
        let found = engine.columns(&observe).map_err(|error| match error {
            QueryError::Refused(why) => why,
            QueryError::Slow => "it took too long".to_owned(),
        })?;
        let known = found.into_iter().filter(|(column, _)| store.columns.contains_key(column));
        let mut relation = Relation { observe, columns: Vec::new(), origins: IndexMap::new() };
        for (column, origin) in known {
            relation.origins.extend(origin.map(|origin| (column.clone(), origin)));
            relation.columns.push(column);
        }
        match relation.columns.is_empty() {
            true => Err(format!(
                "it has none of the columns {}",
                store.columns.keys().cloned().collect::<Vec<_>>().join(", ")
            )),
            false => Ok(relation),
        }
    }
}

/// Makes the queries.
pub(super) struct Queries<'a> {
    pub(super) contract: &'a Contract,
    pub(super) live: &'a Live,
    pub(super) relations: &'a IndexMap<String, Relation>,
    pub(super) roll: &'static str,
}

impl Queries<'_> {
    fn relation(&self, store: &str) -> Result<&Relation, String> {
        self.relations.get(store).ok_or_else(|| format!("{store} cannot be read there"))
    }

    fn has(&self, store: &str, columns: &[String]) -> Result<&Relation, String> {
        let relation = self.relation(store)?;
        match columns.iter().find(|column| !relation.columns.contains(column)) {
            Some(column) => Err(format!("{store} shows no {column}")),
            None => Ok(relation),
        }
    }

    /// A store in the contract's words; of a sample, if one is enough.
    fn cte(&self, store: &str, relation: &Relation, sampled: bool) -> String {
        let columns: Vec<String> = relation.columns.iter().map(|column| self.column(store, column)).collect();
        let part = self
            .live
            .sample
            .filter(|_| sampled)
            .map_or(String::new(), |percent| format!(" WHERE {} < {percent}", self.roll));
        format!(
            "{} AS (SELECT {} FROM ({}\n) AS own{part})",
            quote(&format!("{PREFIX}{store}")),
            columns.join(", "),
            relation.observe
        )
    }

    fn column(&self, store: &str, column: &str) -> String {
        let name = quote(column);
        let is_word = matches!(&self.contract.stores[store].columns[column].base, Base::Domain(_));
        match self.live.words.get(column).filter(|_| is_word) {
            Some(words) => {
                let own = format!("CAST({name} AS TEXT)");
                let cases: String =
                    words.iter().map(|(theirs, ours)| format!(" WHEN {} THEN {}", text(theirs), text(ours))).collect();
                format!("CASE {own}{cases} ELSE {own} || ' (not in the word map)' END AS {name}")
            }
            None if is_word => format!("CAST({name} AS TEXT) AS {name}"),
            None => name,
        }
    }

    /// Rows whose word is none.
    pub(super) fn stray_words(&self, store: &str, column: &str, ty: &Type, domain: &str) -> Result<String, String> {
        let relation = self.has(store, &[column.to_owned()])?;
        let domain = &self.contract.domains[domain];
        let classes = domain.classes.iter().enumerate().filter(|(at, _)| domain.otherwise != Some(*at));
        let mut words: Vec<String> = Vec::new();
        for sample in classes.flat_map(|(_, class)| &class.samples) {
            match sample.node.value() {
                Value::Text(word) => words.push(text(&word)),
                // SQLite keeps 0 and 1, PostgreSQL says true and false.
                Value::Bool(yes) => {
                    words.extend([text(if yes { "true" } else { "false" }), text(if yes { "1" } else { "0" })])
                }
                Value::Int(int) => words.push(text(&int.to_string())),
                _ => {}
            }
        }
        let (name, null) = (quote(column), if ty.nullable { "" } else { " OR %s IS NULL" });
        let key = self.contract.stores[store].key.iter().filter(|key| relation.columns.contains(key) && *key != column);
        let shown: Vec<String> = key.map(|key| quote(key)).chain([name.clone()]).collect();
        Ok(format!(
            "WITH {} SELECT {} FROM {} WHERE {name} NOT IN ({}){}",
            self.cte(store, relation, true),
            shown.join(", "),
            quote(&format!("{PREFIX}{store}")),
            words.join(", "),
            null.replace("%s", &name),
        ))
    }

    /// Values that stand in more than one row. A null is like no other, as a unique index has it.
    pub(super) fn duplicates(&self, store: &str, columns: &[String]) -> Result<String, String> {
        let relation = self.has(store, columns)?;
        let names: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        let told: Vec<String> = names.iter().map(|name| format!("{name} IS NOT NULL")).collect();
        let names = names.join(", ");
        Ok(format!(
            "WITH {} SELECT {names}, COUNT(*) AS \"times\" FROM {} WHERE {} GROUP BY {names} HAVING COUNT(*) > 1",
            self.cte(store, relation, false),
            quote(&format!("{PREFIX}{store}")),
            told.join(" AND "),
        ))
    }

    /// The table and the columns of it that a gate is about.
    pub(super) fn origin(&self, store: &str, columns: &[String]) -> Result<(String, Vec<String>), String> {
        let relation = self.has(store, columns)?;
        let of = |column: &String| {
            relation.origins.get(column).cloned().ok_or_else(|| format!("{column} of {store} is no column of a table"))
        };
        let origins: Vec<(String, String)> = columns.iter().map(of).collect::<Result<_, _>>()?;
        match origins.split_first() {
            Some(((table, _), rest)) if rest.iter().all(|(other, _)| other == table) => {
                Ok((table.clone(), origins.iter().map(|(_, own)| own.clone()).collect()))
            }
            _ => Err(format!("the columns of {store} come from several tables")),
        }
    }

    /// Whether a rule in SQL reads no more than stores as they are.
    pub(super) fn reads_only_stores(&self, sql: &str) -> bool {
        let others =
            relations(self.contract).into_iter().filter(|relation| !self.contract.stores.contains_key(&relation.name));
        others.into_iter().all(|relation| !words(sql).any(|(_, word)| word == relation.name))
    }

    /// A rule in SQL over all rows.
    pub(super) fn whole(&self, sql: &str) -> Result<String, String> {
        self.asked(sql, false)
    }

    /// A rule in SQL for which a sample is enough.
    pub(super) fn sampled(&self, sql: &str) -> Result<String, String> {
        self.asked(sql, true)
    }

    fn asked(&self, sql: &str, sampled: bool) -> Result<String, String> {
        let mut ctes = vec![format!("clock AS (SELECT {} AS now)", self.live.now)];
        let (mut out, mut from) = (String::new(), 0);
        let mut read: Vec<&str> = Vec::new();
        for (at, word) in words(sql) {
            let Some((store, _)) = self.contract.stores.get_key_value(word) else { continue };
            let relation = self.relation(store)?;
            if !read.contains(&word) {
                read.push(word);
                ctes.push(self.cte(store, relation, sampled));
            }
            out.push_str(&sql[from..at]);
            out.push_str(PREFIX);
            from = at;
        }
        out.push_str(&sql[from..]);
        Ok(format!("WITH {} SELECT * FROM ({out}\n) AS broken", ctes.join(", ")))
    }

    /// A row in words. Free text is never shown, only how long it is: it may be personal. Where a query puts values of
    /// several columns into one, its name does not say whose they are.
    pub(super) fn shown(&self, sql: &str, row: &Row) -> String {
        let mixed = words(sql).any(|(_, word)| word.eq_ignore_ascii_case("union"));
        let open = |column: &str, value: &str| {
            if mixed {
                return value.parse::<f64>().is_ok();
            }
            let mut types = self.contract.stores.values().filter_map(|store| store.columns.get(column)).peekable();
            let known = types.peek().is_some();
            column == "times" || known && types.all(|ty| !matches!(ty.base, Base::Text | Base::Any))
        };
        let told = |(column, value): &(String, Option<String>)| match value {
            None => format!("{column}=-"),
            Some(value) if open(column, value) => format!("{column}={}", crate::evidence::short(value.as_bytes())),
            Some(value) => format!("{column}=({} characters)", value.chars().count()),
        };
        row.iter().map(told).collect::<Vec<_>>().join(" ")
    }
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The bare words of SQL with their places: what stands in quotes is none.
fn words(sql: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(c) = sql[at..].chars().next() {
            let start = at;
            if c == '\'' {
                at += 1 + sql[at + 1..].find('\'').map_or(sql.len() - at - 1, |end| end + 1);
            } else if c.is_ascii_alphabetic() || c == '_' {
                let more = |c: char| c.is_ascii_alphanumeric() || c == '_';
                at += sql[at..].find(|c| !more(c)).unwrap_or(sql.len() - at);
                return Some((start, &sql[start..at]));
            } else {
                at += c.len_utf8();
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_words_of_a_query_are_those_outside_quotes() {
        let words: Vec<&str> =
            super::words("SELECT a.id FROM a WHERE a.x = 'b c' OR é = 1").map(|(_, word)| word).collect();
        assert_eq!(words, ["SELECT", "a", "id", "FROM", "a", "WHERE", "a", "x", "OR"]);
    }
}

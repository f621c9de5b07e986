//! What the harness observes of a subject's tables, worked out once: the columns, and the SQL that seeds and reads
//! them, either the binding's own or that of tables with the contract's names.

use indexmap::IndexMap;
use nack_contracts::model::{Base, Contract, Store};
use nack_contracts::relations::quote;
use nack_contracts::{Map, Value};
use postgres::types::Type;
use postgres::{Row, Statement, Transaction};

use super::parameters::{Numbered, numbered};
use super::said;
use super::values::{as_text, from_text};
use crate::store::fit::{self, wrong};
use crate::store::{Ids, Mapping, StoreError, Translation};

/// What is observed of each store.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) stores: IndexMap<String, Observe>,
    /// Sets each sequence behind what was seeded, so that the subject's own rows come after it.
    pub(super) sequences: String,
}

/// How one store is seeded and observed.
#[derive(Clone, Debug)]
pub(super) struct Observe {
    /// The subject's table that rows are inserted into.
    pub(super) table: Table,
    /// The contract's columns that this subject has, in the order of `select`, with the types of the subject's own.
    pub(super) columns: Vec<(String, Type)>,
    /// The binding's own statements; empty where the table has the contract's names.
    pub(super) seed: Vec<Numbered>,
    /// Reads the observed columns of all rows as text.
    pub(super) select: String,
    /// The subject's own column behind each of the contract's, where it is one.
    pub(super) own: IndexMap<String, String>,
}

/// A table of the subject.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// What the server knows it by, also in a copy of its database.
    pub(super) oid: u32,
    /// Its name alone, as it is.
    pub(super) name: String,
    /// Its name with its schema, as SQL.
    pub(super) full: String,
    /// Its columns and their numbers.
    pub(super) columns: IndexMap<String, i16>,
}

impl Layout {
    /// Checks a subject's empty tables against its contract, in a transaction that is rolled back.
    pub(super) fn new(
        transaction: &mut Transaction<'_>,
        contract: &Contract,
        mapping: &Mapping,
        capabilities: &[String],
    ) -> Result<Layout, StoreError> {
        let mut stores = IndexMap::new();
        for (name, spec) in &contract.stores {
            let columns = fit::columns_of(spec, capabilities);
            let mapped = mapping.store(name);
            let seed: Vec<Numbered> = mapped.seed.iter().map(|sql| numbered(sql)).collect();
            let bound = !seed.is_empty();
            let table = if bound {
                let statements = statements(transaction, &format!("seed.{name}"), &seed)?;
                let used: Vec<String> = seed.iter().flat_map(|seed| seed.columns.iter().cloned()).collect();
                fit::written(name, spec, &columns, &used)?;
                check_ids(name, spec, mapped.ids, &seed, &statements)?;
                let into = fit::inserted_into(name, &mapped.seed)?;
                Table::find(transaction, into)?.ok_or_else(|| fit::no_table(name, into, bound))?
            } else {
                let table = Table::find(transaction, &quote(name))?.ok_or_else(|| fit::no_table(name, name, bound))?;
                let own: Vec<String> = table.columns.keys().cloned().collect();
                fit::has_columns(name, name, &columns, &own)?;
                let seed = [insert(&table, &columns)];
                let statements = statements(transaction, "setup", &seed)?;
                check_ids(name, spec, mapped.ids, &seed, &statements)?;
                table
            };
            let observe = mapped.observe.as_deref().map_or_else(|| plain(&table, spec, &columns), str::to_owned);
            let observed = Observed::new(transaction, name, spec, &columns, &observe, &table)?;
            let Observed { columns, select, own } = observed;
            stores.insert(name.clone(), Observe { table, columns, seed, select, own });
        }
        fit::gates(contract, |store| &stores[store].own)?;
        Ok(Layout { stores, sequences: sequences(transaction)? })
    }
}

impl Table {
    fn find(transaction: &mut Transaction<'_>, written: &str) -> Result<Option<Table>, StoreError> {
        let about = "SELECT c.oid, c.relname::text, format('%I.%I', n.nspname, c.relname)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = to_regclass($1::text) AND c.relkind IN ('r', 'p')";
        let Some(row) = transaction.query_opt(about, &[&written])? else { return Ok(None) };
        let oid: u32 = row.get(0);
        let columns = "SELECT attname::text, attnum FROM pg_attribute
            WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
        let columns = transaction.query(columns, &[&oid])?.iter().map(|row| (row.get(0), row.get(1))).collect();
        Ok(Some(Table { oid, name: row.get(1), full: row.get(2), columns }))
    }
}

impl Observe {
    /// The observed columns of a row of `select`.
    pub(super) fn row(&self, store: &str, words: &Translation, row: &Row) -> Result<Map, StoreError> {
        let spec = &words.contract().stores[store];
        let value = |(i, (column, ty)): (usize, &(String, Type))| {
            let text: Option<String> = row.try_get(i)?;
            let value = text.map_or(Value::Null, |text| from_text(text, ty));
            Ok((column.clone(), words.inward(column, &spec.columns[column], value)))
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}

/// Inserts these columns. Explicit ids go into a column that makes its own, too.
pub(super) fn insert(table: &Table, columns: &[String]) -> Numbered {
    let names: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let marks: Vec<String> = (1..=columns.len()).map(|i| format!("${i}")).collect();
    let (table, names, marks) = (&table.full, names.join(", "), marks.join(", "));
    let sql = format!("INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({marks})");
    Numbered { sql, columns: columns.to_vec() }
}

/// The query for a table of the contract's own names. Rows have no order of their own.
fn plain(table: &Table, spec: &Store, columns: &[String]) -> String {
    let list = |columns: &[String]| columns.iter().map(|column| quote(column)).collect::<Vec<_>>().join(", ");
    let order = if spec.key.is_empty() { list(columns) } else { list(&spec.key) };
    format!("SELECT {} FROM {} ORDER BY {order}", list(columns), quote(&table.name))
}

fn prepared(transaction: &mut Transaction<'_>, key: &str, sql: &str) -> Result<Statement, StoreError> {
    let refused = |error| wrong(key, format!("its SQL is refused: {}", said(&error)), fit::RUN_ON);
    transaction.prepare(sql).map_err(refused)
}

fn statements(transaction: &mut Transaction<'_>, key: &str, seed: &[Numbered]) -> Result<Vec<Statement>, StoreError> {
    seed.iter().map(|seed| prepared(transaction, key, &seed.sql)).collect()
}

/// An id that is a text does not go into a column of numbers: better said once than by every case.
fn check_ids(
    name: &str,
    spec: &Store,
    ids: Ids,
    seed: &[Numbered],
    statements: &[Statement],
) -> Result<(), StoreError> {
    if ids != Ids::Text {
        return Ok(());
    }
    let parameters =
        seed.iter().zip(statements).flat_map(|(seed, statement)| seed.columns.iter().zip(statement.params()));
    for (column, ty) in
        parameters.filter(|(column, _)| spec.key.contains(column) && spec.columns[*column].base == Base::Id)
    {
        let spelled = match *ty {
            Type::INT2 | Type::INT4 | Type::INT8 => "int",
            Type::UUID => "uuid",
            _ => continue,
        };
        let message = format!("`{column}` is of the type {ty} here, and the contract's ids are texts");
        return Err(wrong(format!("ids.{name}"), message, format!("say ids.{name} = \"{spelled}\"")));
    }
    Ok(())
}

/// What a query that reads a store gives.
struct Observed {
    columns: Vec<(String, Type)>,
    select: String,
    own: IndexMap<String, String>,
}

impl Observed {
    fn new(
        transaction: &mut Transaction<'_>,
        name: &str,
        spec: &Store,
        columns: &[String],
        sql: &str,
        table: &Table,
    ) -> Result<Observed, StoreError> {
        let key = format!("observe.{name}");
        let sql = sql.trim_end().trim_end_matches(';');
        let statement = prepared(transaction, &key, sql)?;
        let found = statement.columns();
        let names: Vec<&str> = found.iter().map(postgres::Column::name).collect();
        fit::given(name, spec, columns, &names)?;
        let places = columns.iter().filter_map(|column| names.iter().position(|name| name == column));
        let places: Vec<usize> = places.collect();
        let read: Vec<String> = places.iter().map(|i| as_text(&format!("c{i}"), found[*i].type_())).collect();
        let all: Vec<String> = (0..found.len()).map(|i| format!("c{i}")).collect();
        // What writes is refused inside another query.
        let select = format!("SELECT {} FROM ({sql}\n) AS observed ({})", read.join(", "), all.join(", "));
        let own = |i: &usize| {
            let column = &found[*i];
            let number = column.column_id().filter(|_| column.table_oid() == Some(table.oid))?;
            let (own, _) = table.columns.iter().find(|(_, n)| **n == number)?;
            Some((names[*i].to_owned(), own.clone()))
        };
        let own = places.iter().filter_map(own).collect();
        let columns = places.iter().map(|i| (names[*i].to_owned(), found[*i].type_().clone())).collect();
        transaction.prepare(&select).map_err(|error| {
            wrong(&key, format!("it is no plain query: {}", said(&error)), "observe only: a SELECT")
        })?;
        reads_by_name(transaction, &key, sql, table)?;
        Ok(Observed { columns, select, own })
    }
}

/// History is read by putting a view of the table's name before the table, so the query must name it by that alone.
fn reads_by_name(transaction: &mut Transaction<'_>, key: &str, sql: &str, table: &Table) -> Result<(), StoreError> {
    let (name, full) = (quote(&table.name), &table.full);
    let mut nested = transaction.transaction()?;
    let views = format!("CREATE TEMP VIEW {name} AS SELECT * FROM {full}; CREATE TEMP VIEW nack_observe AS {sql}");
    nested.batch_execute(&views).map_err(|error| {
        wrong(key, format!("it cannot be a view: {}", said(&error)), "give each of its columns a name of its own")
    })?;
    let through = "SELECT EXISTS (SELECT FROM pg_depend d JOIN pg_rewrite r ON d.objid = r.oid
        WHERE r.ev_class = to_regclass('pg_temp.nack_observe') AND d.refobjid = to_regclass($1::text))";
    let through: bool = nested.query_one(through, &[&format!("pg_temp.{name}")])?.get(0);
    nested.rollback()?;
    if through {
        return Ok(());
    }
    let message =
        format!("it does not read the table {name} by that name, so its history could not be read through it");
    let help = "write the name without its schema; a schema can be put into the store's address, as in \
                `?options=-csearch_path%3Dapp`";
    Err(wrong(key, message, help))
}

/// Each sequence that belongs to a column, set to the column's highest value.
fn sequences(transaction: &mut Transaction<'_>) -> Result<String, StoreError> {
    let owned = "SELECT format('SELECT setval(%1$L, max(%2$I)) FROM %3$s
              HAVING max(%2$I) >= (SELECT last_value FROM %1$s);', d.objid::regclass, a.attname, d.refobjid::regclass)
        FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
        JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')";
    Ok(transaction.query(owned, &[])?.iter().map(|row| row.get::<_, String>(0)).collect())
}

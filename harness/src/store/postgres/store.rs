//! The stores of one subject, and the store of one case: a database that is copied, seeded and read.

use std::any::Any;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use nack_contracts::Map;
use nack_contracts::model::{Contract, Gate};
use postgres::types::ToSql;
use postgres::{Client, GenericClient, IsolationLevel, Statement};

use super::layout::{Layout, Observe, insert};
use super::reset::Reset;
use super::server::{Database, Server};
use super::values::Parameter;
use super::{gate, history};
use crate::store::{Mapping, Own, Snapshot, Store, StoreError, Stores, Translation, Url};

/// The stores of one subject.
#[derive(Debug)]
pub(crate) struct PostgresStores {
    contract: Arc<Contract>,
    mapping: Arc<Mapping>,
    layout: Layout,
    server: Arc<Server>,
    template: Database,
    reset: Option<Reset>,
    /// Copies of the template that cases are done with, made as they were.
    clean: Mutex<Vec<Arc<Database>>>,
}

impl PostgresStores {
    /// Makes a database ready in which `setup` makes the subject's tables.
    pub(crate) fn prepare(
        contract: &Arc<Contract>,
        mapping: &Mapping,
        capabilities: &[String],
        url: &Url,
        setup: impl FnOnce(&Url, &mut dyn FnMut(&str) -> Result<(), StoreError>) -> Result<(), StoreError>,
    ) -> Result<PostgresStores, StoreError> {
        let server = Server::reach(url)?;
        let template = server.create(None)?;
        setup(template.url(), &mut |sql| Ok(template.open()?.batch_execute(sql)?))?;
        let mut client = template.open()?;
        let mut check = client.transaction()?;
        let layout = Layout::new(&mut check, contract, mapping, capabilities)?;
        check.rollback()?;
        let mut install = client.transaction()?;
        history::install(&mut install, &layout)?;
        install.commit()?;
        let reset = Reset::of(&mut client)?;
        client.close()?;
        let (contract, mapping) = (Arc::clone(contract), Arc::new(mapping.clone()));
        Ok(PostgresStores { contract, mapping, layout, server, template, reset, clean: Mutex::default() })
    }

    fn store(&self, base: i64) -> Result<Postgres<'_>, StoreError> {
        let clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let database = clean.map_or_else(|| self.server.create(Some(&self.template)).map(Arc::new), Ok)?;
        let words = Arc::new(Translation::new(Arc::clone(&self.contract), Arc::clone(&self.mapping), base));
        Ok(Postgres { stores: self, words, database })
    }

    /// A case is done with a database: the next one gets it, or it goes.
    fn done(&self, database: &Arc<Database>) {
        let reset = self.reset.as_ref().filter(|_| !std::thread::panicking());
        if reset.is_some_and(|reset| reset.apply(database).unwrap_or(false)) {
            self.clean.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(database));
        }
    }
}

impl Stores for PostgresStores {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn keeps_history(&self) -> bool {
        true
    }

    fn empty(&self, _folder: &Path, base: i64) -> Result<Box<dyn Store + '_>, StoreError> {
        Ok(Box::new(self.store(base)?))
    }

    fn seeded(
        &self,
        _folder: &Path,
        base: i64,
        given: &IndexMap<String, Vec<Map>>,
    ) -> Result<(Box<dyn Store + '_>, Snapshot), StoreError> {
        let store = self.store(base)?;
        store.seed(given)?;
        let snapshot = store.read(None)?;
        Ok((Box::new(store), snapshot))
    }
}

/// The store of one case.
#[derive(Debug)]
pub(super) struct Postgres<'s> {
    stores: &'s PostgresStores,
    words: Arc<Translation>,
    database: Arc<Database>,
}

impl Postgres<'_> {
    pub(super) fn open(&self) -> Result<Client, StoreError> {
        self.database.open()
    }

    pub(super) fn observed(&self, store: &str) -> &Observe {
        &self.stores.layout.stores[store]
    }

    /// Inserts the given rows. They are where the case begins, and no history of it.
    fn seed(&self, given: &IndexMap<String, Vec<Map>>) -> Result<(), StoreError> {
        if given.values().all(Vec::is_empty) {
            return Ok(());
        }
        let mut client = self.open()?;
        let mut transaction = client.transaction()?;
        let mut known = HashMap::new();
        for (store, rows) in given {
            for row in rows {
                self.insert_with(&mut transaction, &mut known, store, row)?;
            }
        }
        transaction.batch_execute(&self.stores.layout.sequences)?;
        transaction.batch_execute("DELETE FROM nack_history.changes")?;
        transaction.commit()?;
        client.close()?;
        Ok(())
    }

    /// Inserts one row by itself.
    pub(super) fn insert(&self, client: &mut Client, store: &str, row: &Map) -> Result<(), postgres::Error> {
        let mut transaction = client.transaction()?;
        self.insert_with(&mut transaction, &mut HashMap::new(), store, row)?;
        transaction.commit()
    }

    fn insert_with(
        &self,
        client: &mut impl GenericClient,
        known: &mut HashMap<String, Statement>,
        store: &str,
        row: &Map,
    ) -> Result<(), postgres::Error> {
        let observed = self.observed(store);
        let own;
        let statements = if observed.seed.is_empty() {
            let columns = observed.columns.iter().map(|(column, _)| column).filter(|column| row.contains_key(*column));
            own = [insert(&observed.table, &columns.cloned().collect::<Vec<_>>())];
            &own[..]
        } else {
            &observed.seed
        };
        for numbered in statements {
            let statement = match known.get(&numbered.sql) {
                Some(statement) => statement.clone(),
                None => client.prepare(&numbered.sql)?,
            };
            let value = |(column, ty): (&String, _)| match row.get(column) {
                Some(value) => Parameter::new(&self.words.seeded(store, column, value), ty),
                None => Parameter::Null,
            };
            let values: Vec<Parameter> = numbered.columns.iter().zip(statement.params()).map(value).collect();
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
            client.execute(&statement, &values)?;
            known.insert(numbered.sql.clone(), statement);
        }
        Ok(())
    }
}

impl Drop for Postgres<'_> {
    fn drop(&mut self) {
        self.stores.done(&self.database);
    }
}

impl Store for Postgres<'_> {
    fn address(&self) -> &str {
        self.database.url().reveal()
    }

    fn translation(&self) -> &Arc<Translation> {
        &self.words
    }

    /// Only a worker in this process leaves its store in a copy, and that store is a file.
    fn moved_to(&mut self, _path: PathBuf) {}

    fn read(&self, _transactions: Option<&[Vec<(String, i64)>]>) -> Result<Snapshot, StoreError> {
        let mut client = self.open()?;
        let mut transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start()?;
        let mut stores = IndexMap::new();
        for (name, observed) in &self.stores.layout.stores {
            let rows = transaction.query(&observed.select, &[])?;
            let rows = rows.iter().map(|row| observed.row(name, &self.words, row));
            stores.insert(name.clone(), rows.collect::<Result<_, _>>()?);
        }
        let history = history::read(&mut transaction, &self.stores.layout, &self.words)?;
        transaction.rollback()?;
        client.close()?;
        Ok(Snapshot { stores, history })
    }

    fn gate(&self, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
        gate::try_gate(self, gate, rows)
    }

    fn own(&self, store: &str) -> Own {
        let observed = self.observed(store);
        Own { table: observed.table.name.clone(), columns: observed.own.clone() }
    }

    fn execute(&self, sql: &str) -> Result<u64, StoreError> {
        Ok(self.open()?.execute(sql, &[])?)
    }

    fn lock(&self) -> Result<Box<dyn Any>, StoreError> {
        let mut client = self.open()?;
        let tables: Vec<&str> =
            self.stores.layout.stores.values().map(|observed| observed.table.full.as_str()).collect();
        let lock = format!("BEGIN; LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", tables.join(", "));
        client.batch_execute(&lock)?;
        Ok(Box::new(Locked(client)))
    }
}

/// The write lock, held by an open transaction.
struct Locked(Client);

impl Drop for Locked {
    fn drop(&mut self) {
        // A connection that is gone holds nothing.
        let _ = self.0.batch_execute("ROLLBACK");
    }
}

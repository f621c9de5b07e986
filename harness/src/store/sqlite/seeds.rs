//! Seeded stores, made once for each distinct set of given rows: most cases of a scenario begin alike.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use nack_contracts::Map;

use super::store::Sqlite;
use crate::store::{Snapshot, Store, StoreError};

/// Stores up to this size are kept; larger ones are rare and made anew.
const LARGEST: usize = 256 << 10;

/// The most stores that are kept.
const MOST: usize = 512;

/// The prepared store of a target, and the seeded ones made from it so far.
#[derive(Debug)]
pub(super) struct Seeds {
    template: PathBuf,
    made: Mutex<HashMap<String, Arc<Seed>>>,
}

#[derive(Debug)]
struct Seed {
    file: Vec<u8>,
    snapshot: Snapshot,
}

impl Seeds {
    pub(super) fn new(template: PathBuf) -> Seeds {
        Seeds { template, made: Mutex::default() }
    }

    /// Makes `store` without rows.
    pub(super) fn empty(&self, store: &Sqlite<'_>) -> Result<(), StoreError> {
        fs::copy(&self.template, store.path())?;
        Ok(())
    }

    /// Makes `store` with these rows, and says how it then reads.
    pub(super) fn seed(
        &self,
        store: &Sqlite<'_>,
        base: i64,
        given: &IndexMap<String, Vec<Map>>,
    ) -> Result<Snapshot, StoreError> {
        let key = format!("{base} {}", serde_json::to_string(given).unwrap_or_default());
        let known = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone);
        if let Some(seed) = known {
            store.know(given);
            fs::write(store.path(), &seed.file)?;
            return Ok(seed.snapshot.clone());
        }
        self.empty(store)?;
        store.seed(given)?;
        let snapshot = store.read(None)?;
        let file = fs::read(store.path())?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if key.len() + file.len() <= LARGEST && made.len() < MOST {
            made.insert(key, Arc::new(Seed { file, snapshot: snapshot.clone() }));
        }
        Ok(snapshot)
    }
}

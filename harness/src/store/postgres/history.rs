//! Committed history by triggers: every change of a row, old and new, with the transaction that made it, in a table of
//! the harness. What a transaction came to is one change, and only what was there before and after it is an update:
//! a row that was deleted and inserted anew is one, and a row that is new is none, whatever happened to it at once.

use indexmap::IndexMap;
use nack_contracts::relations::quote;
use nack_contracts::{Map, Value};
use postgres::Transaction;

use super::layout::{Layout, Observe};
use crate::store::{Change, StoreError, Translation};

/// JSON keeps the spelling of a value, and can be read back into a table that has meanwhile got another column.
const TABLE: &str = "
    CREATE SCHEMA nack_history;
    CREATE TABLE nack_history.changes (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      tx bigint NOT NULL DEFAULT txid_current(), of oid NOT NULL, old json, new json);
    CREATE FUNCTION nack_history.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      INSERT INTO nack_history.changes (of, old, new) VALUES (tg_argv[0]::oid,
        CASE WHEN tg_op <> 'INSERT' THEN row_to_json(old) END, CASE WHEN tg_op <> 'DELETE' THEN row_to_json(new) END);
      RETURN NULL;
    END $$;";

/// Installs the triggers on the table of every store.
pub(super) fn install(transaction: &mut Transaction<'_>, layout: &Layout) -> Result<(), StoreError> {
    transaction.batch_execute(TABLE)?;
    for oid in tables(layout) {
        let full = layout.stores.values().find(|observed| observed.table.oid == oid).map(|o| o.table.full.as_str());
        transaction.batch_execute(&format!(
            "CREATE TRIGGER nack_history AFTER INSERT OR UPDATE OR DELETE ON {} FOR EACH ROW
               EXECUTE FUNCTION nack_history.note({oid})",
            full.unwrap_or_default(),
        ))?;
    }
    Ok(())
}

/// Two stores may be in one table.
fn tables(layout: &Layout) -> Vec<u32> {
    let mut oids: Vec<u32> = layout.stores.values().map(|observed| observed.table.oid).collect();
    oids.sort_unstable();
    oids.dedup();
    oids
}

/// Whether every trigger is still there: a subject that makes its tables anew takes them away.
fn installed(transaction: &mut Transaction<'_>, layout: &Layout) -> Result<bool, StoreError> {
    let oids = tables(layout);
    let there = "SELECT count(*) FROM pg_trigger
        WHERE tgname = 'nack_history' AND tgenabled <> 'D' AND tgrelid = ANY ($1)";
    let there: i64 = transaction.query_one(there, &[&oids])?.get(0);
    Ok(there == oids.len() as i64)
}

/// Reads the history of every store.
pub(super) fn read(
    transaction: &mut Transaction<'_>,
    layout: &Layout,
    words: &Translation,
) -> Result<Option<IndexMap<String, Vec<Change>>>, StoreError> {
    if !installed(transaction, layout)? {
        return Ok(None);
    }
    let mut out = IndexMap::new();
    for (store, observed) in &layout.stores {
        let changes = through_observe(transaction, store, observed, words)?;
        out.insert(store.clone(), updates(changes, &words.contract().stores[store].key));
    }
    Ok(Some(out))
}

/// What one statement did to a row.
struct Step {
    transaction: i64,
    old: Option<Map>,
    new: Option<Map>,
}

/// Reads each image of a changed row as `observe` would have read it: through a view that shows that image alone and
/// hides the table of its name from this connection.
fn through_observe(
    transaction: &mut Transaction<'_>,
    store: &str,
    observed: &Observe,
    words: &Translation,
) -> Result<Vec<Step>, StoreError> {
    let list = "SELECT n, tx, old IS NOT NULL, new IS NOT NULL FROM nack_history.changes WHERE of = $1 ORDER BY n";
    let list = transaction.query(list, &[&observed.table.oid])?;
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let mut nested = transaction.transaction()?;
    nested.batch_execute(&format!(
        "CREATE TEMP VIEW {name} AS SELECT image.* FROM nack_history.changes,
           json_populate_record(NULL::{full}, CASE current_setting('nack.side') WHEN 'old' THEN old ELSE new END) image
           WHERE n = current_setting('nack.n')::bigint",
        name = quote(&observed.table.name),
        full = observed.table.full,
    ))?;
    let show = nested.prepare("SELECT set_config('nack.n', $1, true), set_config('nack.side', $2, true)")?;
    let select = nested.prepare(&observed.select)?;
    let mut image = |n: i64, side: &str, there: bool| -> Result<Option<Map>, StoreError> {
        if !there {
            return Ok(None);
        }
        nested.execute(&show, &[&n.to_string(), &side])?;
        // What `observe` does not show was no row of the store.
        nested.query(&select, &[])?.first().map(|row| observed.row(store, words, row)).transpose()
    };
    let mut steps = Vec::new();
    for row in list {
        let n = row.get(0);
        let (old, new) = (image(n, "old", row.get(2))?, image(n, "new", row.get(3))?);
        steps.push(Step { transaction: row.get(1), old, new });
    }
    nested.rollback()?;
    Ok(steps)
}

/// Nobody could see the steps between, so those of one row in one transaction are one.
fn updates(steps: Vec<Step>, key: &[String]) -> Vec<Change> {
    let name = |row: &Map| -> Vec<Option<Value>> { key.iter().map(|column| row.get(column).cloned()).collect() };
    // With each, the name under which the row goes on.
    let mut rows: Vec<(Vec<Option<Value>>, Step)> = Vec::new();
    for step in steps {
        let Some(before) = step.old.as_ref().or(step.new.as_ref()).map(name) else { continue };
        let after = step.new.as_ref().map_or_else(|| before.clone(), name);
        let same = |(known, earlier): &&mut (Vec<Option<Value>>, Step)| {
            !key.is_empty()
                && *known == before
                && earlier.transaction == step.transaction
                && earlier.new.is_some() == step.old.is_some()
        };
        match rows.iter_mut().rev().find(same) {
            Some((known, earlier)) => (*known, earlier.new) = (after, step.new),
            None => rows.push((after, step)),
        }
    }
    rows.into_iter().filter_map(|(_, step)| Some(Change { old: step.old?, new: step.new? })).collect()
}

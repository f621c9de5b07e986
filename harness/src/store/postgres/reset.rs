//! A database that a case is done with, made as it was: to copy and drop one costs the disk hundreds of milliseconds
//! where it is busy, to empty one a few. It is done where the template has no rows and the case has changed nothing but
//! rows; otherwise the next case gets a new copy.

use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, GenericClient};

use super::server::Database;
use crate::store::StoreError;

/// How long the sessions of a case may take to end.
const ENDED_WITHIN: Duration = Duration::from_secs(2);

/// The catalogues in which a change of the schema is seen, and the oid in each that tells the subject's own rows.
/// Whatever changes a row of them leaves it with another transaction.
const CATALOGUES: [(&str, &str); 16] = [
    ("pg_attrdef", "adrelid"),
    ("pg_attribute", "attrelid"),
    ("pg_constraint", "oid"),
    ("pg_default_acl", "oid"),
    ("pg_enum", "oid"),
    ("pg_event_trigger", "oid"),
    ("pg_extension", "oid"),
    ("pg_index", "indexrelid"),
    ("pg_inherits", "inhrelid"),
    ("pg_largeobject_metadata", "oid"),
    ("pg_policy", "oid"),
    ("pg_proc", "oid"),
    ("pg_rewrite", "ev_class"),
    ("pg_statistic_ext", "oid"),
    ("pg_trigger", "tgrelid"),
    ("pg_type", "oid"),
];

/// What the catalogues do not show: tables without what TRUNCATE changes, schemas, prepared transactions, settings.
const BESIDES: &str = "
    SELECT concat_ws(' ', oid, relname, relnamespace, relkind, relrowsecurity, relforcerowsecurity, relreplident,
        relacl, reloptions) FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT concat_ws(' ', oid, xmin) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
    UNION ALL SELECT transaction::text FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database()";

/// How the databases of one template are made as they were.
#[derive(Debug)]
pub(super) struct Reset {
    empty: String,
    shape: String,
}

impl Reset {
    /// For copies of this database. `None`: it has rows, or something that holds rows and is no table.
    pub(super) fn of(client: &mut Client) -> Result<Option<Reset>, StoreError> {
        let own = "relnamespace >= 16384 OR relnamespace = 'public'::regnamespace";
        let tables = format!(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind = ANY ($1) AND NOT relispartition AND ({own})"
        );
        let mut named = |kinds: &[&str]| -> Result<Vec<String>, StoreError> {
            let kinds: Vec<i8> = kinds.iter().map(|kind| kind.as_bytes()[0].cast_signed()).collect();
            Ok(client.query(&tables, &[&kinds])?.iter().map(|row| row.get(0)).collect())
        };
        let (tables, sequences, others) = (named(&["r", "p"])?, named(&["S"])?, named(&["m", "f"])?);
        let rows = tables.iter().map(|table| format!("SELECT FROM {table}")).collect::<Vec<_>>().join(" UNION ALL ");
        let filled: bool = client.query_one(&format!("SELECT EXISTS ({rows})"), &[])?.get(0);
        if filled || !others.is_empty() {
            return Ok(None);
        }
        let mut empty = format!("TRUNCATE {};", tables.join(", "));
        for sequence in sequences {
            let place = client.query_one(&format!("SELECT last_value, is_called FROM {sequence}"), &[])?;
            let (last, called): (i64, bool) = (place.get(0), place.get(1));
            empty.push_str(&format!("SELECT setval('{}', {last}, {called});", sequence.replace('\'', "''")));
        }
        Ok(Some(Reset { empty, shape: shape(client)? }))
    }

    /// Ends every session of a database and empties it. Returns whether it is as its template is.
    pub(super) fn apply(&self, database: &Database) -> Result<bool, StoreError> {
        let mut client = database.open()?;
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        let deadline = Instant::now() + ENDED_WITHIN;
        while client.query_one(end, &[])?.get::<_, i64>(0) > 0 {
            if Instant::now() > deadline {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(1));
        }
        let same = shape(&mut client)? == self.shape;
        if same {
            client.batch_execute(&self.empty)?;
        }
        client.close()?;
        Ok(same)
    }
}

/// The schema of a database, in a form that a copy of it shares.
fn shape(client: &mut impl GenericClient) -> Result<String, StoreError> {
    let rows = CATALOGUES.iter().map(|(catalogue, oid)| {
        format!("SELECT '{catalogue} ' || xmin || ' ' || count(*) FROM {catalogue} WHERE {oid} >= 16384 GROUP BY xmin")
    });
    let rows: Vec<String> = rows.chain([BESIDES.to_owned()]).collect();
    let whole = format!(
        "SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM ({}) AS shape (line)",
        rows.join(" UNION ALL ")
    );
    Ok(client.query_one(&whole, &[])?.get(0))
}

//! What a database holds: its tables, their columns, and the words that a short column uses.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// A table of somebody's database.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
}

/// One of its columns.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// The declared type, in lower case.
    pub(super) ty: String,
    pub(super) key: bool,
    /// Whether a row must name it.
    pub(super) required: bool,
    /// The few words that it holds or may hold.
    pub(super) words: Vec<String>,
}

/// A database, as far as it was looked at.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) tables: Vec<Table>,
    /// SQL that makes the same tables, empty.
    pub(super) schema: String,
}

/// Looks at an SQLite file. Nothing is written.
pub(super) fn sqlite(path: &Path) -> rusqlite::Result<Database> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let sql = "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, rowid";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let objects: Vec<(String, String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let schema = objects.iter().map(|(_, _, sql)| format!("{sql};\n")).collect();
    let tables = objects.iter().filter(|(_, kind, _)| kind == "table");
    let tables = tables.map(|(name, _, sql)| table(&connection, name, sql)).collect::<rusqlite::Result<_>>()?;
    Ok(Database { tables, schema })
}

fn table(connection: &Connection, name: &str, sql: &str) -> rusqlite::Result<Table> {
    let mut statement = connection
        .prepare("SELECT name, lower(type), pk > 0, \"notnull\" AND dflt_value IS NULL FROM pragma_table_info(?1)")?;
    let rows = statement.query_map([name], |row| {
        Ok(Column { name: row.get(0)?, ty: row.get(1)?, key: row.get(2)?, required: row.get(3)?, words: Vec::new() })
    })?;
    let mut columns: Vec<Column> = rows.collect::<rusqlite::Result<_>>()?;
    for column in &mut columns {
        column.words = allowed(sql, &column.name);
        if column.words.is_empty() {
            column.words = used(connection, name, &column.name)?;
        }
    }
    Ok(Table { name: name.to_owned(), columns })
}

/// Looks at the tables of the first schema that a PostgreSQL connection searches. Nothing is written.
#[cfg(feature = "postgres")]
pub(super) fn postgres(url: &str) -> Result<Database, postgres::Error> {
    let mut client = postgres::Client::connect(url, postgres::NoTls)?;
    let mut client = client.build_transaction().read_only(true).start()?;
    let mut schema = String::new();
    let enums = "SELECT t.typname::text, array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_type t \
                 JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = current_schema()::regnamespace GROUP BY 1 ORDER BY 1";
    let enums: Vec<(String, Vec<String>)> =
        client.query(enums, &[])?.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (name, labels) in &enums {
        let labels: Vec<String> = labels.iter().map(|label| format!("'{}'", label.replace('\'', "''"))).collect();
        schema += &format!("CREATE TYPE {} AS ENUM ({});\n", quoted(name), labels.join(", "));
    }
    let names = "SELECT oid, relname::text FROM pg_class WHERE relkind = 'r' \
                 AND relnamespace = current_schema()::regnamespace ORDER BY oid";
    let mut tables = Vec::new();
    for row in client.query(names, &[])? {
        let (oid, name): (u32, String) = (row.get(0), row.get(1));
        let sql = "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
                   coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity <> '', \
                   EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey)) \
                   FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
                   WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
        let checks = "SELECT contype::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1 AND contype <> 'n' \
                      ORDER BY contype = 'f', conname";
        let checks: Vec<(String, String)> =
            client.query(checks, &[&oid])?.iter().map(|row| (row.get(0), row.get(1))).collect();
        let (mut lines, mut columns) = (Vec::new(), Vec::new());
        for row in client.query(sql, &[&oid])? {
            let (column, ty): (String, String) = (row.get(0), row.get(1));
            let (not_null, default, identity): (bool, String, bool) = (row.get(2), row.get(3), row.get(4));
            let counts = identity || default.starts_with("nextval(");
            let rest = match (counts, default.is_empty()) {
                (true, _) => " GENERATED BY DEFAULT AS IDENTITY".to_owned(),
                (false, false) => format!(" DEFAULT {default}"),
                (false, true) => String::new(),
            };
            let null = if not_null { " NOT NULL" } else { "" };
            lines.push(format!("    {} {ty}{rest}{null}", quoted(&column)));
            let labels = enums.iter().find(|(name, _)| *name == ty).map(|(_, labels)| labels.clone());
            let checked = || checks.iter().filter(|(kind, _)| kind == "c").find_map(|(_, sql)| any_of(sql, &column));
            let words = labels.or_else(checked).unwrap_or_default();
            columns.push(Column {
                name: column,
                ty,
                key: row.get(5),
                required: not_null && default.is_empty() && !identity,
                words,
            });
        }
        lines.extend(checks.iter().map(|(_, sql)| format!("    {sql}")));
        schema += &format!("CREATE TABLE {} (\n{}\n);\n", quoted(&name), lines.join(",\n"));
        let indexes = "SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i WHERE i.indrelid = $1 \
                       AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid) ORDER BY i.indexrelid";
        for row in client.query(indexes, &[&oid])? {
            let sql: String = row.get(0);
            schema += &format!("{};\n", sql.replace(" ON public.", " ON "));
        }
        for column in columns.iter_mut().filter(|column| column.words.is_empty() && column.ty.starts_with("text")) {
            let (table, own) = (quoted(&name), quoted(&column.name));
            let sql = format!(
                "SELECT DISTINCT {own} FROM (SELECT {own} FROM {table} LIMIT 10000) t WHERE length({own}) < 40 LIMIT 13"
            );
            let words: Vec<String> = client.query(&sql, &[])?.iter().map(|row| row.get(0)).collect();
            column.words = if words.len() > 12 { Vec::new() } else { words };
        }
        tables.push(Table { name, columns });
    }
    Ok(Database { tables, schema })
}

/// The words of a constraint that PostgreSQL spells as `= ANY (ARRAY['a'::text, …])`.
#[cfg(feature = "postgres")]
fn any_of(sql: &str, column: &str) -> Option<Vec<String>> {
    let (head, list) = sql.split_once("ARRAY[")?;
    let words = list
        .split(']')
        .next()?
        .split(',')
        .filter_map(|word| Some(word.trim().strip_prefix('\'')?.split('\'').next()?.to_owned()));
    head.contains(column).then(|| words.collect())
}

/// The words that a column holds, if they are few.
fn used(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<Vec<String>> {
    let (table, column) = (quoted(table), quoted(column));
    let sql = format!(
        "SELECT DISTINCT {column} FROM (SELECT {column} FROM {table} LIMIT 10000) WHERE typeof({column}) = 'text' \
         AND length({column}) < 40 LIMIT 13"
    );
    let mut statement = connection.prepare(&sql)?;
    let words: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(if words.len() > 12 { Vec::new() } else { words })
}

/// The words of a `CHECK (column IN ('a', 'b'))` in a table's own SQL.
pub(super) fn allowed(sql: &str, column: &str) -> Vec<String> {
    let lower = sql.to_lowercase();
    let column = column.to_lowercase();
    let mut from = 0;
    while let Some(at) = lower[from..].find(&column).map(|at| from + at) {
        let rest = lower[at + column.len()..].trim_start_matches(['"', '`', ']', ' ', '\n', '\t']);
        if let Some(list) = rest.strip_prefix("in").map(str::trim_start).and_then(|rest| rest.strip_prefix('(')) {
            let start = sql.len() - list.len();
            let list = sql[start..].split(')').next().unwrap_or_default();
            return list.split(',').map(|word| word.trim().trim_matches('\'').to_owned()).collect();
        }
        from = at + column.len();
    }
    Vec::new()
}

/// An identifier, quoted as SQL wants it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::allowed;

    #[rstest]
    #[case::plain("CREATE TABLE t (s TEXT CHECK (s IN ('a', 'b')))", &["a", "b"])]
    #[case::quoted("CREATE TABLE t (\"s\" TEXT, CHECK (\"s\" in ('A')))", &["A"])]
    #[case::another_column("CREATE TABLE t (x TEXT CHECK (x IN ('a')), s TEXT)", &[])]
    fn the_words_of_a_check_are_found(#[case] sql: &str, #[case] words: &[&str]) {
        assert_eq!(allowed(sql, "s"), words);
    }
}

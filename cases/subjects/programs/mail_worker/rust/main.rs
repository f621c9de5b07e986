//! Delivers the mails of mail_queue: claims the oldest open one, posts it, and records what came of it.
//!
//!     mail_worker --db app.db --send-url http://localhost:8025/messages [--once] [--now EPOCH]
//!
//! Any number of workers may share a queue. Whoever claims a mail raises its `tries`, so a worker that was too slow
//! finds another number there and records nothing.

use std::error::Error;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row, params};

/// Seconds that a claim lasts.
const LEASE: i64 = 60;
const MAX_TRIES: i64 = 5;
/// For a whole exchange, however slowly it drips.
const TIMEOUT: Duration = Duration::from_secs(3);

struct Mail {
    seq: i64,
    status: String,
    tries: i64,
    id: String,
    body: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut db, mut url, mut once, mut fixed) = (None, None, false, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--db" => db = args.next(),
            "--send-url" => url = args.next(),
            "--once" => once = true,
            "--now" => fixed = args.next().map(|epoch| epoch.parse()).transpose()?,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let (db, url) = (Connection::open(db.ok_or("--db is missing")?)?, url.ok_or("--send-url is missing")?);
    loop {
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() as i64;
        let said = deliver_one(&db, &url, fixed.unwrap_or(clock))?;
        println!("{said}");
        match said {
            _ if once => return Ok(()),
            "idle" => std::thread::sleep(Duration::from_secs(1)),
            _ => {}
        }
    }
}

fn deliver_one(db: &Connection, url: &str, now: i64) -> rusqlite::Result<&'static str> {
    let Some(mail) = claim(db, now)? else { return Ok("idle") };
    let (status, error) = match attempt(url, &mail) {
        ("queued", error) if mail.tries >= MAX_TRIES => ("failed", error),
        outcome => outcome,
    };
    Ok(if record(db, &mail, status, error.as_deref())? { status } else { "superseded" })
}

/// The oldest mail that nobody holds.
fn claim(db: &Connection, now: i64) -> rusqlite::Result<Option<Mail>> {
    let oldest = "SELECT seq, status, tries, id, CAST(body AS BLOB) FROM mail_queue WHERE status = 'queued'
                  OR (status = 'working' AND (locked_until IS NULL OR locked_until <= ?1))
                  ORDER BY enqueued_at, seq LIMIT 1";
    let take = "UPDATE mail_queue SET status = 'working', tries = tries + 1, locked_until = ?1
                WHERE seq = ?2 AND status = ?3 AND tries = ?4";
    while let Some(mail) = db.query_row(oldest, [now], read).optional()? {
        if mail.status == "working" && mail.tries >= MAX_TRIES {
            record(db, &mail, "failed", Some("abandoned on its last try"))?;
        } else if db.execute(take, params![now + LEASE, mail.seq, mail.status, mail.tries])? == 1 {
            return Ok(Some(Mail { tries: mail.tries + 1, ..mail }));
        }
    }
    Ok(None)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Mail> {
    Ok(Mail { seq: row.get(0)?, status: row.get(1)?, tries: row.get(2)?, id: row.get(3)?, body: row.get(4)? })
}

/// Whether the mail was still ours.
fn record(db: &Connection, mail: &Mail, status: &str, error: Option<&str>) -> rusqlite::Result<bool> {
    let sql = "UPDATE mail_queue SET status = ?1, locked_until = NULL, last_error = ?2
               WHERE seq = ?3 AND status = 'working' AND tries = ?4";
    Ok(db.execute(sql, params![status, error, mail.seq, mail.tries])? == 1)
}

/// The mail's next status, and why it is not delivered.
fn attempt(url: &str, mail: &Mail) -> (&'static str, Option<String>) {
    let Ok(body) = str::from_utf8(&mail.body) else { return ("failed", Some("the body is not text".into())) };
    if mail.id.is_empty() || !mail.id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return ("failed", Some("the id fits no header".into()));
    }
    match post(url, &mail.id, body) {
        Err(error) => ("queued", Some(error.to_string())),
        Ok((202, answer)) if has_token(&answer) => ("delivered", None),
        Ok((status @ (429 | 500..), _)) => ("queued", Some(format!("HTTP {status}"))),
        Ok((status, _)) => ("failed", Some(format!("HTTP {status}"))),
    }
}

fn post(url: &str, id: &str, body: &str) -> Result<(u16, Vec<u8>), ureq::Error> {
    let client = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .new_agent();
    let mut response = client.post(url).header("X-Message-Id", id).send(body)?;
    Ok((response.status().as_u16(), response.body_mut().read_to_vec()?))
}

fn has_token(answer: &[u8]) -> bool {
    let Ok(answer) = serde_json::from_slice::<serde_json::Value>(answer) else { return false };
    answer["ack"].as_str().is_some_and(|token| !token.trim().is_empty())
}

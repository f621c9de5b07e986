// Imports members: POST /v1/members:import takes 1 to 100 rows and answers with a verdict for each, in their order.
//
//     node server.mjs --db app.db --port 8080
//
// Prints `listening on PORT` when it is ready; port 0 takes a free one. Several servers may share a database.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";
import Database from "better-sqlite3";

const EMAIL = /^[^@\s]+@[^@\s]+\.[^@\s]+$/;
const MAX_ROWS = 100;

const { values: args } = parseArgs({ options: { db: { type: "string" }, port: { type: "string" } } });
const db = new Database(args.db, { fileMustExist: true, timeout: 10_000 });
const byKey = db.prepare("SELECT id FROM people WHERE external_key = ?").pluck();
const byMail = db.prepare("SELECT id FROM people WHERE mail = ?").pluck();
const insert = db.prepare("INSERT INTO people(id, external_key, mail, name) VALUES (?, ?, ?, ?)");

const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The rows of a request. Throws if the body cannot be split into keyed rows.
function parse(body) {
  const asked = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body), wellFormed);
  const rows = isObject(asked) ? asked.rows : undefined;
  if (!Array.isArray(rows) || rows.length < 1 || rows.length > MAX_ROWS) throw new Error(`not 1 to ${MAX_ROWS} rows`);
  const keys = rows.map((row) => (isObject(row) ? row.row_key : undefined));
  if (!keys.every((key) => isText(key) && key) || new Set(keys).size < keys.length)
    throw new Error("each row needs a row_key of its own");
  return rows;
}

// A lone surrogate is text that nobody can store.
function wellFormed(name, value) {
  if (!name.isWellFormed() || (isText(value) && !value.isWellFormed())) throw new Error("a lone surrogate");
  return value;
}

// One transaction for the request, and a verdict for each row. Who holds the write lock may trust what it read.
function importRows(rows) {
  try {
    db.exec("BEGIN IMMEDIATE");
    const { ids, mails } = stored(rows);
    const results = rows.map((row) => verdict(row, ids, mails));
    db.exec("COMMIT");
    return results;
  } finally {
    if (db.inTransaction) db.exec("ROLLBACK");
  }
}

// The ids of the people who have one of the rows' keys, by key, and one of their emails, by email.
function stored(rows) {
  const find = (statement, values) => new Map(values.filter(isText).map((value) => [value, statement.get(value)]));
  return { ids: find(byKey, rows.map((row) => row.row_key)), mails: find(byMail, rows.map((row) => row.email)) };
}

function verdict({ row_key: key, email, display_name: name }, ids, mails) {
  if (!isText(email) || !EMAIL.test(email)) return result(key, "rejected", null, "invalid_email");
  if (!isText(name) || !name.trim()) return result(key, "rejected", null, "display_name_blank");
  if (ids.get(key)) return result(key, "unchanged", ids.get(key), null);
  if (mails.get(email)) return result(key, "rejected", null, "email_taken");
  const id = randomUUID();
  insert.run(id, key, email, name);
  mails.set(email, id);
  return result(key, "created", id, null);
}

const result = (row_key, status, id, error) => ({ row_key, status, id, error });

// The status and the body of the reply.
function serve(body) {
  let rows;
  try {
    rows = parse(body);
  } catch {
    return [400, { error: "malformed_payload" }];
  }
  try {
    const results = importRows(rows);
    const rejected = results.some((row) => row.error);
    return [rejected ? 207 : 200, { results }];
  } catch (error) {
    console.error(error);
    return [500, { error: "internal" }];
  }
}

const server = createServer(async (request, response) => {
  const body = await buffer(request).catch(() => undefined);
  if (!body) return; // the client hung up
  const asked = request.method === "POST" && request.url === "/v1/members:import";
  const [status, answer] = asked ? serve(body) : [404, { error: "not_found" }];
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
});
server.listen(Number(args.port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));

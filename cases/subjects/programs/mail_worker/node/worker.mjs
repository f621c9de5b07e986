// Delivers the mails of mail_queue: claims the oldest open one, posts it, and records what came of it.
//
//     node worker.mjs --db app.db --send-url http://localhost:8025/messages [--once] [--now EPOCH]
//
// Any number of workers may share a queue. Whoever claims a mail raises its `tries`, so a worker that was too slow
// finds another number there and records nothing.
import { isUtf8 } from "node:buffer";
import http from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import Database from "better-sqlite3";

const LEASE = 60; // seconds that a claim lasts
const MAX_TRIES = 5;
const TIMEOUT = 3000; // milliseconds for a whole exchange, however slowly it drips

const { values: args } = parseArgs({
  options: {
    db: { type: "string" },
    "send-url": { type: "string" },
    once: { type: "boolean", default: false },
    now: { type: "string" }, // epoch seconds instead of the clock
  },
});
const db = new Database(args.db, { fileMustExist: true });

const oldest = db.prepare(
  "SELECT seq, status, tries, id, CAST(body AS BLOB) AS body FROM mail_queue WHERE status = 'queued'" +
    " OR (status = 'working' AND (locked_until IS NULL OR locked_until <= ?))" +
    " ORDER BY enqueued_at, seq LIMIT 1",
);
const take = db.prepare(
  "UPDATE mail_queue SET status = 'working', tries = tries + 1, locked_until = @until" +
    " WHERE seq = @seq AND status = @status AND tries = @tries",
);
const write = db.prepare(
  "UPDATE mail_queue SET status = ?, locked_until = NULL, last_error = ?" +
    " WHERE seq = ? AND status = 'working' AND tries = ?",
);

// The oldest mail that nobody holds, or undefined.
function claim(now) {
  for (;;) {
    const mail = oldest.get(now);
    if (!mail) return undefined;
    if (mail.status === "working" && mail.tries >= MAX_TRIES) {
      record(mail, "failed", "abandoned on its last try");
      continue;
    }
    const taken = take.run({ until: now + LEASE, seq: mail.seq, status: mail.status, tries: mail.tries });
    if (taken.changes === 1) return { ...mail, tries: mail.tries + 1 };
  }
}

// Whether the mail was still ours.
function record(mail, status, error) {
  return write.run(status, error, mail.seq, mail.tries).changes === 1;
}

// The mail's next status, and why it is not delivered.
async function attempt(mail) {
  if (!isUtf8(mail.body)) return ["failed", "the body is not text"];
  if (!/^[\x20-\x7e]+$/.test(mail.id)) return ["failed", "the id fits no header"];
  let status, answer;
  try {
    [status, answer] = await post(mail.id, mail.body);
  } catch (error) {
    return ["queued", `${error}`];
  }
  if (status === 202 && hasToken(answer)) return ["delivered", null];
  if (status === 429 || status >= 500) return ["queued", `HTTP ${status}`];
  return ["failed", `HTTP ${status}`];
}

function post(id, body) {
  const options = {
    method: "POST",
    headers: { "X-Message-Id": id, "Content-Length": body.length },
    signal: AbortSignal.timeout(TIMEOUT),
  };
  return new Promise((resolve, reject) => {
    const read = (response) => text(response).then((answer) => resolve([response.statusCode, answer]), reject);
    http.request(args["send-url"], options, read).on("error", reject).end(body);
  });
}

function hasToken(answer) {
  try {
    const token = JSON.parse(answer).ack;
    return typeof token === "string" && token.trim() !== "";
  } catch {
    return false;
  }
}

async function deliverOne(now) {
  const mail = claim(now);
  if (!mail) return "idle";
  let [status, error] = await attempt(mail);
  if (status === "queued" && mail.tries >= MAX_TRIES) status = "failed";
  return record(mail, status, error) ? status : "superseded";
}

for (;;) {
  const said = await deliverOne(args.now === undefined ? Math.floor(Date.now() / 1000) : Number(args.now));
  console.log(said);
  if (args.once) break;
  if (said === "idle") await sleep(1000);
}

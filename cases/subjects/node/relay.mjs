// The relay of the ordering service behind nack without an SDK: all of it was read off harness/sdk/PROTOCOL.md.
// The sqlite3 program reaches its store, so that it needs no package.
import { execFileSync } from "node:child_process";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const read = async () => {
  const { value, done } = await lines.next();
  return done ? process.exit(0) : JSON.parse(value);
};
let [store, asked] = ["", 0];
const sql = (text) => execFileSync("sqlite3", ["-json", "-cmd", ".timeout 5000", store, text], { encoding: "utf8" });
const checkpoints = ["before_send", "after_send", "after_mark"];

async function ask(method, params) {
  write({ id: ++asked, method, params });
  for (let answer = await read(); ; answer = await read()) {
    if (answer.id === asked && answer.error) throw new Error(answer.error.message);
    if (answer.id === asked) return answer.result;
  }
}

async function relayOnce() {
  const found = sql("SELECT event_id, order_id, amount FROM outbox WHERE sent = 0 ORDER BY rowid LIMIT 1");
  if (!found) return false;
  const [event] = JSON.parse(found);
  await ask("checkpoint", { name: "before_send" });
  await ask("effect", { name: "send", columns: event });
  await ask("checkpoint", { name: "after_send" });
  sql(`UPDATE outbox SET sent = 1 WHERE event_id = '${event.event_id.replaceAll("'", "''")}'`);
  await ask("checkpoint", { name: "after_mark" });
  return true;
}

for (let { id, method, params } = await read(); ; { id, method, params } = await read()) {
  if (method === "hello") ({ store } = params);
  const done = method === "hello" ? Promise.resolve({ name: "relay-node", protocol: 1, checkpoints }) : relayOnce();
  write({ id, ...(await done.then((result) => ({ result }), ({ message }) => ({ error: { code: 1, message } }))) });
}

// Timers of Node, in their order, each with the seconds that its own clocks say have passed.
const start = performance.now(), wall = Date.now();
const seconds = () => `${Math.round((performance.now() - start) / 1000)} ${Math.round((Date.now() - wall) / 1000)}`;
const after = (delay) => new Promise((done) => setTimeout(done, delay * 1000));
const said = (name) => console.log(name, seconds());

await Promise.all([50, 10, 40, 20, 30].map(async (delay) => { await after(delay); said(`timeout ${delay}`); }));
await new Promise((done) => {
  let times = 0;
  const interval = setInterval(() => { said("interval"); if (++times === 3) { clearInterval(interval); done(); } }, 600_000);
});
const server = (await import("node:http")).createServer(() => {}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));
await Promise.all(Array.from({ length: 1000 }, (_, n) => after(n / 10)));
said("thousand");
await after(3600);
said("hour");
server.close();

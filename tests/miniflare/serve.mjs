// One R2 bucket on 127.0.0.1, reachable through the S3 API, kept in memory. Prints where and how as one
// line of JSON, and ends when its standard input does, so that it never outlives the test that started it.

import { randomBytes } from "node:crypto";
import { Miniflare } from "miniflare";

const credentials = {
  accessKeyId: randomBytes(16).toString("hex"),
  secretAccessKey: randomBytes(32).toString("hex"),
};
const miniflare = new Miniflare({
  modules: true,
  script: "export default { fetch() { return new Response(null, { status: 404 }); } };",
  host: "127.0.0.1",
  port: 0,
  r2Buckets: { BUCKET: { id: "bucket", s3Credentials: credentials } },
});

async function end() {
  await miniflare.dispose();
  process.exit(0);
}
process.stdin.on("end", end).on("error", end).resume();

const url = await miniflare.ready;
const endpoint = new URL("/cdn-cgi/local/r2/s3", url).href;
console.log(JSON.stringify({ endpoint, bucket: "bucket", ...credentials }));

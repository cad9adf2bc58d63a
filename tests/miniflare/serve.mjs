// One R2 bucket on 127.0.0.1, reachable through the S3 API, kept in memory. Prints where and how as one
// line of JSON. Then each line of its input is the name of an object to put as another program would
// (in JSON, any name), and is answered with a line. It ends when its input does, so that it never outlives
// the test that started it.

import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";

const credentials = {
  accessKeyId: randomBytes(16).toString("hex"),
  secretAccessKey: randomBytes(32).toString("hex"),
};
// What is posted is answered unpacked, by workerd's own gzip.
const unpack = `export default {
  fetch(request) {
    if (request.method !== "POST") return new Response(null, { status: 404 });
    return new Response(request.body.pipeThrough(new DecompressionStream("gzip")));
  },
};`;
const miniflare = new Miniflare({
  modules: true,
  script: unpack,
  host: "127.0.0.1",
  port: 0,
  r2Buckets: { BUCKET: { id: "bucket", s3Credentials: credentials } },
});

const input = createInterface({ input: process.stdin });
const gone = new Promise((resolve) => input.once("close", resolve));
gone.then(async () => {
  await miniflare.dispose();
  process.exit(0);
});

const url = await miniflare.ready;
const endpoint = new URL("/cdn-cgi/local/r2/s3", url).href;
console.log(JSON.stringify({ endpoint, bucket: "bucket", ...credentials }));

const bucket = await miniflare.getR2Bucket("BUCKET");
input.on("line", async (line) => {
  await bucket.put(JSON.parse(line), "foreign");
  console.log("done");
});

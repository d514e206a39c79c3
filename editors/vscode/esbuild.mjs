// Bundles the extension into out/extension.js, and collects the licences of what is bundled.

import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "out/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node18",
  external: ["vscode"],
  minify: true,
  metafile: true,
  logLevel: "warning",
});

const folders = new Set(
  Object.keys(metafile.inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []),
);
const notices = [];
for (const folder of [...folders].sort()) {
  const { name, version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
  if (!file) {
    throw new Error(`${name} ${version} is bundled, but has no file with its licence`);
  }
  notices.push(`${name} ${version} (${license})\n\n${(await readFile(path.join(folder, file), "utf8")).trim()}\n`);
}
const title = "out/extension.js contains these packages:\n\n";
await writeFile("THIRD-PARTY-NOTICES.txt", title + notices.join(`\n${"-".repeat(80)}\n\n`));
await copyFile("../../LICENSE", "LICENSE");
console.log(`out/extension.js: ${metafile.outputs["out/extension.js"].bytes} bytes, ${notices.length} packages`);

/**
 * Builds the bundle into ui/torpor_ui/static, the same bytes on every machine, and checks its size.
 *
 * `node build.ts` writes it; `--watch` keeps on writing; `--size` prints what the first load costs.
 */
import { context, build, type BuildOptions, type Metafile } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "..", "torpor_ui", "static");
const LIMIT = 150_000;

const options: BuildOptions = {
  absWorkingDir: HERE,
  entryPoints: [{ in: "src/main.tsx", out: "page" }, { in: "src/theme.ts", out: "theme" }],
  outdir: join(OUT, "assets"),
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox114", "safari16.4"],
  minify: true,
  legalComments: "none",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".svg": "file" },
  metafile: true,
  write: true,
  logLevel: "warning",
};

/** The files that the browser loads before it draws a view: the entries and all that they import statically. */
function firstLoad(meta: Metafile): string[] {
  const files = new Set<string>();
  const add = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const output = meta.outputs[file];
    for (const each of output?.imports ?? []) if (each.kind === "import-statement") add(each.path);
    if (output?.cssBundle) files.add(output.cssBundle);
  };
  for (const [file, output] of Object.entries(meta.outputs)) {
    if (output.entryPoint === "src/main.tsx" || output.entryPoint === "src/theme.ts") add(file);
  }
  return [...files].sort();
}

/** All files but the graph and its layout, which few visits load. */
function withoutGraph(meta: Metafile): string[] {
  const late = /graph\//;
  return Object.entries(meta.outputs).filter(([, output]) => !late.test(output.entryPoint ?? "")).map(([file]) => file).sort();
}

async function size(files: string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(join(HERE, file)), { level: 9 }).length));
  return sizes.reduce((sum, each) => sum + each, 0);
}

/** index.html names the entries by their hashes, and preloads what they import. */
async function writeIndex(files: string[]): Promise<void> {
  const url = (file: string): string => `assets/${basename(file)}`;
  const named = (prefix: string, suffix: string): string => {
    const file = files.find((each) => basename(each).startsWith(prefix) && each.endsWith(suffix));
    if (!file) throw new Error(`the bundle has no ${prefix}*${suffix}`);
    return url(file);
  };
  const main = named("page-", ".js");
  const preloads = files.filter((each) => basename(each).startsWith("part-") && each.endsWith(".js"));
  const template = await readFile(join(HERE, "src", "index.html"), "utf8");
  const html = template
    .replace("{{theme}}", named("theme-", ".js"))
    .replace("{{style}}", named("page-", ".css"))
    .replace("{{page}}", main)
    .replace("{{preloads}}", preloads.map((each) => `<link rel="modulepreload" href="${url(each)}">`).join("\n"));
  await writeFile(join(OUT, "index.html"), html.replace(/\n\s*\n/g, "\n"));
}

async function finish(meta: Metafile): Promise<void> {
  const theme = Object.values(meta.outputs).find((output) => output.entryPoint === "src/theme.ts");
  if (!theme || theme.imports.length > 0) throw new Error("src/theme.ts is no module in the page, so it imports nothing");
  const files = firstLoad(meta);
  const bytes = await size(files);
  const all = await size(withoutGraph(meta));
  await writeIndex(files);
  await writeFile(join(OUT, "icon.svg"), await readFile(join(HERE, "src", "icon.svg")));
  console.log(`first load: ${bytes} bytes gzipped; all views but the graph: ${all} of ${LIMIT}`);
  if (process.argv.includes("--size")) {
    for (const file of Object.keys(meta.outputs).sort()) console.log(`${(await size([file])).toString().padStart(8)}  ${relative(OUT, join(HERE, file))}`);
  }
  if (all > LIMIT) throw new Error(`the views have ${all} bytes gzipped without the graph, above ${LIMIT}`);
}

await rm(join(OUT, "assets"), { recursive: true, force: true });
await mkdir(join(OUT, "assets"), { recursive: true });
if (process.argv.includes("--watch")) {
  const rebuild = { name: "index", setup: (on: import("esbuild").PluginBuild) => on.onEnd(async (result) => {
    if (result.metafile) await finish(result.metafile);
  }) };
  const watching = await context({ ...options, minify: false, sourcemap: "linked", plugins: [rebuild] });
  await watching.watch();
} else {
  const result = await build(options);
  await finish(result.metafile as Metafile);
  const left = (await readdir(join(OUT, "assets"))).filter((file) => file.endsWith(".map"));
  if (left.length > 0) throw new Error("source maps are not committed");
}

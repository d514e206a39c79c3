// A VS Code in a browser: its server, and a page with a folder opened in it.

import { spawn, type ChildProcess } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";

import { type Browser, chromium, type Locator, type Page } from "playwright-core";

const TIMEOUT = 40_000; // a step takes a second or two, also on a busy machine ten

export interface Options {
  readonly server: string;
  readonly extensions: readonly string[];
  readonly chromium: string;
}

export class VSCode {
  private constructor(
    readonly home: string,
    private readonly process: ChildProcess,
    private readonly browser: Browser,
    private readonly port: number,
  ) {}

  /** Installs the extensions into a new VS Code and starts it. */
  static async start(options: Options): Promise<VSCode> {
    const home = await mkdtemp(path.join(os.tmpdir(), "podplan-vscode-"));
    const folders = ["--extensions-dir", path.join(home, "extensions"), "--user-data-dir", path.join(home, "data")];
    const environment = { ...process.env, HOME: home, PATH: "/usr/bin:/bin" };
    // One after the other: both would write the list of what is installed.
    for (const file of options.extensions) {
      await run(options.server, [...folders, "--install-extension", file], environment);
    }
    const port = await findFreePort();
    const address = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"];
    const server = spawn(
      process.execPath,
      [options.server, ...address, "--accept-server-license-terms", "--telemetry-level", "off", ...folders],
      // Its native parts are not built, and it says so at length; what matters fails a test.
      { env: environment, stdio: "ignore", detached: true },
    );
    await waitFor(async () => (await fetch(`http://127.0.0.1:${port}/version`)).ok, "VS Code's server");
    const browser = await chromium.launch({
      executablePath: options.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    return new VSCode(home, server, browser, port);
  }

  /** Copies a folder, with its own `.git`, `.venv/bin/podplan` and settings, and opens it with a file. */
  async open(name: string, source: string, file: string, program: string, settings: object): Promise<Window> {
    const folder = path.join(this.home, name);
    await cp(source, folder, { recursive: true });
    await mkdir(path.join(folder, ".git"));
    await mkdir(path.join(folder, ".venv", "bin"), { recursive: true });
    await writeFile(path.join(folder, ".venv", "bin", "podplan"), program, { mode: 0o755 });
    await mkdir(path.join(folder, ".vscode"));
    await writeFile(path.join(folder, ".vscode", "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
    const context = await this.browser.newContext({ viewport: { width: 1180, height: 680 } });
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT);
    const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${this.port}${folder}/${file}`]]);
    const query = new URLSearchParams({ folder, payload });
    await page.goto(`http://127.0.0.1:${this.port}/?${query.toString()}`);
    await page.locator(".monaco-workbench").waitFor();
    return new Window(page, folder);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    if (this.process.pid) {
      process.kill(-this.process.pid, "SIGTERM"); // the server and its extension hosts
    }
    await rm(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }
}

const SETTINGS = {
  "editor.minimap.enabled": false,
  "editor.lightbulb.enabled": "off",
  "files.exclude": { "**/*.schema.json": true, ".venv": true, ".vscode": true },
  "workbench.editor.enablePreview": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.activityBar.location": "hidden",
  "chat.commandCenter.enabled": false,
  "window.commandCenter": false,
  "breadcrumbs.enabled": false,
};

export class Window {
  constructor(
    readonly page: Page,
    readonly folder: string,
  ) {}

  async trust(answer: "Yes" | "No"): Promise<void> {
    await this.page.getByRole("button", { name: new RegExp(`^${answer}, I`) }).click();
  }

  async command(title: string): Promise<void> {
    await this.fillQuickInput("F1", `>${title}`, title);
    await this.page.keyboard.press("Enter");
  }

  /** Places the cursor in the active editor; both are counted from 1. */
  async goTo(line: number, column: number): Promise<void> {
    await this.fillQuickInput("Control+g", `:${line}:${column}`, "");
    await this.page.keyboard.press("Enter");
    const place = this.page.locator("#status\\.editor\\.selection", { hasText: `Ln ${line}, Col ${column}` });
    await place.waitFor();
  }

  /** Opens the input with a key, again if it closes because something else takes the focus. */
  private async fillQuickInput(key: string, text: string, row: string): Promise<void> {
    const rows = this.page.locator(".quick-input-list .monaco-list-row", { hasText: row });
    const attempt = { timeout: 3_000 };
    await waitFor(async () => {
      await this.page.keyboard.press(key);
      await this.page.locator(".quick-input-widget input").fill(text, attempt);
      await rows.first().waitFor(attempt);
      return true;
    }, text);
  }

  /** Replaces what a line has after its indentation, as somebody who types does. */
  async replace(line: number, text: string): Promise<void> {
    await this.group(0).focus();
    await this.goTo(line, 1);
    await this.page.keyboard.press("Home");
    await this.page.keyboard.press("Shift+End");
    await this.page.keyboard.insertText(text);
  }

  /** Rests the mouse on the beginning of a text. */
  async hover(text: string): Promise<void> {
    await this.page.locator(".view-line", { hasText: text }).hover({ position: { x: 40, y: 8 } });
  }

  async waitForTab(name: string): Promise<void> {
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
  }

  async closeTab(name: string): Promise<void> {
    const tab = this.page.locator(".tab", { hasText: name });
    await tab.hover();
    await tab.getByLabel(/^Close/).click();
    await tab.waitFor({ state: "detached" });
  }

  group(number: number): EditorGroup {
    return new EditorGroup(this.page, number);
  }

  status(): Locator {
    return this.page.locator("[id='podplan.podplan.podplan.status']");
  }

  async waitForCounts(errors: number, warnings: number, infos: number): Promise<void> {
    const label = `podplan: ${errors} errors, ${warnings} warnings, ${infos} infos`;
    await this.status().locator(`[aria-label="${label}"]`).waitFor();
  }
}

class EditorGroup {
  constructor(
    private readonly page: Page,
    private readonly number: number,
  ) {}

  async focus(): Promise<void> {
    await this.page.keyboard.press(`Control+${this.number + 1}`);
    await this.page.locator(".editor-group-container").nth(this.number).and(this.page.locator(".active")).waitFor();
  }

  /** Waits until the visible lines have the texts. */
  async waitForText(...texts: string[]): Promise<void> {
    const lines = this.page.locator(".editor-group-container").nth(this.number).locator(".view-line");
    for (const text of texts) {
      await lines.filter({ hasText: text }).first().waitFor();
    }
  }
}

export async function waitFor(probe: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + TIMEOUT;
  while (Date.now() < end) {
    if (await probe().catch(() => false)) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${what}: not after ${TIMEOUT / 1000} s`);
}

async function run(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [program, "--accept-server-license-terms", ...args], { env });
  let output = "";
  child.stdout.on("data", (data) => (output += String(data)));
  child.stderr.on("data", (data) => (output += String(data)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0 || !/was successfully installed/.test(output)) {
    throw new Error(`${args.join(" ")}: exit code ${String(code)}\n${output}`);
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

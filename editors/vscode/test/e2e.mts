// The extension in VS Code, in a browser: node e2e.mjs PROGRAM [FOLDER], with the podplan to start, and a folder
// for the screenshots of docs/editors.md.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { inflateSync } from "node:zlib";

import type { Page } from "playwright-core";

import { VSCode, waitFor } from "./vscode.mjs";

const HERE = path.resolve(import.meta.dirname, "..");
const PROGRAM = path.resolve(process.argv[2] ?? "");
const PICTURES = process.argv[3];
const WORKSPACE = path.join(HERE, "workspace");
const JOB = "jobs/resnet.yaml";
const DARK = { "workbench.colorTheme": "Default Dark Modern" };
const LIGHT = { "workbench.colorTheme": "Default Light Modern" };
// As a program of the workspace; the file that it writes shows that it was started.
const WRAPPER = `#!/bin/sh\ntouch "\${0%/*}/started"\nexec "${PROGRAM}" "$@"\n`;

assert.ok(process.argv[2] && existsSync(PROGRAM), "the first argument is the program podplan");

describe("podplan in VS Code", () => {
  let code: VSCode;

  before(async () => {
    code = await VSCode.start({
      server: path.join(HERE, "node_modules/code-server/lib/vscode/out/server-main.js"),
      extensions: [path.join(HERE, "out/yaml-stub.vsix"), path.join(HERE, "../out/podplan.vsix")],
      chromium: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    });
  });
  after(() => code?.stop());

  test("a trusted workspace", async (t) => {
    const window = await code.open("vision", WORKSPACE, JOB, WRAPPER, DARK);
    const { page } = window;
    let failed = false;
    const step = (name: string, run: () => Promise<void>) =>
      t.test(name, async () => {
        assert.ok(!failed, "a step before it has failed, and left VS Code in another state");
        failed = true;
        await run().catch(async (error: unknown) => {
          await page.screenshot({ path: path.join(HERE, "out/failed.png") });
          throw error;
        });
        failed = false;
      });
    await window.trust("Yes");

    await step("the program of its virtual environment finds mistakes, with squiggles and counts", async () => {
      await page.locator(".squiggly-warning").nth(1).waitFor();
      assert.equal(await page.locator(".squiggly-warning").count(), 2);
      assert.ok(existsSync(path.join(window.folder, ".venv/bin/started")));
      await window.waitForCounts(0, 2, 3);
    });

    await step("hover shows the effective value in each environment, and where it is from", async () => {
      await window.hover("replicas: 4");
      const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: "spec.replicas" }).first();
      await hover.waitFor();
      const text = (await hover.textContent()) ?? "";
      assert.match(text, /as written: worker → 4 Pods × 8 GPUs = 32/);
      assert.match(text, /dev: worker → 1 Pod × 1 GPU = 1/);
      assert.match(text, /dev: 1, from line 15/);
      assert.match(text, /spec\.replicaSpecs\[worker\]\.replicas: 4/);
      await take(page, "hover");
    });

    await step("the related place of a finding is in the inventory", async () => {
      await window.status().click();
      const related = page.locator(".markers-panel .monaco-list-row", { hasText: "aurora.yaml" });
      await related.waitFor();
      assert.match((await related.textContent()) ?? "", /8 GPUs/);
      await take(page, "findings");
      await related.dblclick();
      await window.waitForTab("aurora.yaml");
      await window.closeTab("aurora.yaml");
      await page.keyboard.press("Control+j"); // the panel
      await window.waitForTab("resnet.yaml");
    });

    await step("the definition of a hardware class is in the inventory", async () => {
      await window.goTo(8, 15);
      await page.keyboard.press("F12");
      await window.waitForTab("aurora.yaml");
      await page.locator("#status\\.editor\\.selection", { hasText: "Ln 6" }).waitFor();
      await window.closeTab("aurora.yaml");
    });

    await step("completion proposes the hardware classes of the inventory", async () => {
      await window.replace(8, "hardware: ");
      await page.keyboard.press("Control+Space");
      const proposals = page.locator(".suggest-widget.visible .monaco-list-row");
      await proposals.filter({ hasText: "h100x8" }).waitFor();
      await proposals.filter({ hasText: "a10x1" }).waitFor();
      await page.keyboard.press("Escape");
      await window.replace(8, "hardware: h100x8");
      await page.keyboard.press("Escape");
      await window.waitForCounts(0, 2, 3);
    });

    await step("the lowered Pods follow the text, and stay while it is incomplete", async () => {
      await window.command("podplan: Show Lowered Pods");
      await page.locator(".quick-input-list .monaco-list-row", { hasText: "as written" }).click();
      await page.locator(".tab", { hasText: "Pods of resnet, as written" }).waitFor();
      const pods = window.group(1);
      await pods.waitForText("# === PyTorchTrainingJob/resnet, as written", "minMember: 4");
      // Folded: one Pod stands for the equal ones.
      await pods.focus();
      await window.goTo(127, 1);
      await pods.waitForText("resnet-worker-{1..3}");
      if (PICTURES) {
        await pods.focus();
        await window.goTo(141, 1); // in the Pods of worker 1 to 3
      }
      await window.group(0).focus();
      await take(page, "pods");
      await pods.focus();
      await window.goTo(1, 1);
      await window.replace(9, "replicas: 6");
      await pods.waitForText("minMember: 6");
      await window.replace(9, "replicas: {");
      await pods.waitForText("Below is the last result", "minMember: 6");
      await window.replace(9, "replicas: 4");
      await pods.waitForText("minMember: 4");
      await window.closeTab("Pods of resnet");
    });

    await step("the picture follows the text and the theme", async () => {
      await window.group(0).focus();
      await window.command("podplan: Show Picture");
      const image = page.frameLocator("iframe.webview").frameLocator("iframe").locator("img");
      await image.waitFor();
      const frame = page.locator("iframe.webview");
      // The image is 12 pixels from the corner of the frame, and its ground has no text at its upper edge.
      const isGround = async (color: string) => {
        const box = await frame.boundingBox();
        return box !== null && (await readPixel(page, box.x + 60, box.y + 18)) === color;
      };
      await waitFor(() => isGround("#0d1117"), "the dark palette");
      assert.match((await image.getAttribute("alt")) ?? "", /resnet/);
      await take(page, "picture-dark");
      await window.replace(9, "replicas: 6");
      await waitFor(async () => /6 Pods/.test((await image.getAttribute("alt")) ?? ""), "the picture of 6 Pods");
      await window.replace(9, "replicas: 4");
      await window.command("Preferences: Toggle between Light/Dark Themes");
      await waitFor(() => isGround("#ffffff"), "the light palette");
      await take(page, "picture-light");
      await window.closeTab("Picture of resnet");
    });

    await step("a fix is applied", async () => {
      await window.goTo(13, 12);
      const fix = page.locator(".action-widget .monaco-list-row", { hasText: "CR009: remove RANK" });
      // VS Code asks for fixes itself a moment after the cursor moves, which ends another request.
      const openMenu = async () => {
        await page.keyboard.press("Control+.");
        await fix.waitFor({ timeout: 3_000 });
        return true;
      };
      await waitFor(openMenu, "the fix of CR009");
      await page.keyboard.press("Enter");
      await page.locator(".view-line", { hasText: "RANK" }).waitFor({ state: "detached" });
      await window.waitForCounts(0, 1, 3);
    });

    await step("the extension YAML gets the schema of the kind", async () => {
      const file = path.join(window.folder, `${JOB}.schema.json`);
      await waitFor(async () => existsSync(file) && (await readFile(file, "utf8")) !== "", "the schema");
      const schema = JSON.parse(await readFile(file, "utf8")) as { properties: { spec: object } };
      assert.ok("spec" in schema.properties);
    });
  });

  test("a workspace without trust: nothing of it is started until it is trusted", async () => {
    const window = await code.open("strange", WORKSPACE, JOB, WRAPPER, LIGHT);
    const started = path.join(window.folder, ".venv/bin/started");
    await window.trust("No");
    await window.page.locator(".view-line", { hasText: "replicas: 4" }).waitFor();
    // PATH has no podplan, so there is nothing to start; the extension has looked once it says so.
    await window.status().and(window.page.locator(".warning-kind")).waitFor();
    assert.ok(!existsSync(started));
    await window.command("Workspaces: Manage Workspace Trust");
    await window.page.getByRole("button", { name: "Trust", exact: true }).click();
    await window.waitForCounts(0, 2, 3);
    assert.ok(existsSync(started));
  });
});

async function take(page: Page, name: string): Promise<void> {
  if (PICTURES) {
    await mkdir(PICTURES, { recursive: true });
    await page.waitForTimeout(700); // for animations
    await page.screenshot({ path: path.join(PICTURES, `vscode-${name}.png`) });
  }
}

/** The colour of a pixel, from a screenshot of it: a PNG of one row, without interlacing. */
async function readPixel(page: Page, x: number, y: number): Promise<string> {
  const png = await page.screenshot({ clip: { x: Math.round(x), y: Math.round(y), width: 1, height: 1 } });
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") {
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  return `#${inflateSync(Buffer.concat(data)).toString("hex", 1, 4)}`;
}

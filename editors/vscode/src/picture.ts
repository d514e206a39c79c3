// "Show Picture": a webview with the SVG of a file, which follows its edits. It runs no scripts: the SVG is an
// image, whose palette follows the theme by its property color-scheme.

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import { explainError, type Server } from "./server";

const DELAY = 500; // milliseconds without a keystroke

interface Picture {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  svg: string;
  timer?: NodeJS.Timeout;
}

export class PictureView implements vscode.Disposable {
  private readonly pictures = new Map<string, Picture>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => document.languageId === "yaml" && this.refresh()),
      server.onDidStart(() => this.refresh()),
    ];
  }

  async show(document: vscode.TextDocument): Promise<void> {
    const key = document.uri.toString();
    const open = this.pictures.get(key);
    if (open) {
      open.panel.reveal(undefined, true);
      return;
    }
    const { svg } = await this.server.request<{ svg: string }>("podplan/graph", document.uri, {});
    const panel = vscode.window.createWebviewPanel(
      "podplan.picture",
      `Picture of ${document.uri.path.replace(/^.*\//, "").replace(/\.ya?ml$/, "")}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: false, localResourceRoots: [] },
    );
    const picture: Picture = { panel, source: document.uri, svg };
    this.pictures.set(key, picture);
    panel.onDidDispose(() => {
      clearTimeout(picture.timer);
      this.pictures.delete(key);
    });
    panel.webview.html = renderPage(svg, "");
  }

  private refresh(): void {
    for (const picture of this.pictures.values()) {
      clearTimeout(picture.timer);
      picture.timer = setTimeout(() => void this.update(picture), DELAY);
    }
  }

  private async update(picture: Picture): Promise<void> {
    let note = "";
    try {
      picture.svg = (await this.server.request<{ svg: string }>("podplan/graph", picture.source, {})).svg;
    } catch (error) {
      note = `${explainError(error)}. Below is the last picture.`;
    }
    if (this.pictures.get(picture.source.toString()) === picture) {
      picture.panel.webview.html = renderPage(picture.svg, note);
    }
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
    this.pictures.forEach(({ panel }) => panel.dispose());
  }
}

export function renderPage(svg: string, note: string): string {
  const nonce = randomBytes(16).toString("base64");
  const image = Buffer.from(svg).toString("base64");
  // The SVG escapes its text, so its title and description are valid in HTML as they are.
  const alternative = /<desc[^>]*>([^<]*)<\/desc>/.exec(svg)?.[1] ?? "";
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'nonce-${nonce}'">
<style nonce="${nonce}">
body { padding: 12px; }
img { display: block; max-width: 100%; min-width: 30em; color-scheme: light; }
body.vscode-dark img, body.vscode-high-contrast:not(.vscode-high-contrast-light) img { color-scheme: dark; }
p { color: var(--vscode-editorWarning-foreground); }
</style>
</head>
<body>
${note ? `<p>${escapeHtml(note)}</p>` : ""}
<img alt="${alternative}" src="data:image/svg+xml;base64,${image}">
</body>
</html>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

// "Show Lowered Pods": a virtual document beside the file, which follows its edits.

import * as vscode from "vscode";

import { explainError, type Server } from "./server";

const SCHEME = "podplan-pods";
const DELAY = 300; // milliseconds without a keystroke

interface Lowered {
  readonly text: string;
  readonly variants: readonly string[];
}

/** What a virtual document shows: a file, and a variant of it or all. It is the query of the URI. */
interface Shown {
  readonly uri: string;
  readonly variant: string | null;
}

export class PodsView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly texts = new Map<string, string>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      // A base or the inventory may have changed as well, so every edit of YAML counts.
      vscode.workspace.onDidChangeTextDocument(({ document }) => document.languageId === "yaml" && this.refresh()),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      server.onDidStart(() => this.refresh()),
    ];
  }

  async show(document: vscode.TextDocument): Promise<void> {
    const source = document.uri.toString();
    const { variants } = await this.server.request<Lowered>("podplan/lower", document.uri, {});
    const variant = variants.length > 1 ? await chooseVariant(variants) : null;
    if (variant === undefined) {
      return;
    }
    const name = document.uri.path.replace(/^.*\//, "").replace(/\.ya?ml$/, "");
    const uri = vscode.Uri.from({
      scheme: SCHEME,
      path: `/Pods of ${name}${variant === null ? "" : `, ${variant.replaceAll("/", " ")}`}.yaml`,
      query: JSON.stringify({ uri: source, variant } satisfies Shown),
    });
    const pods = await vscode.workspace.openTextDocument(uri);
    const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(pods, options);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { uri: source, variant } = JSON.parse(uri.query) as Shown;
    const key = uri.toString();
    try {
      const lowered = await this.server.request<Lowered>("podplan/lower", vscode.Uri.parse(source), { variant });
      this.texts.set(key, lowered.text);
      return lowered.text;
    } catch (error) {
      // The last text stays, so that the view does not collapse at each incomplete line.
      const previous = this.texts.get(key);
      return `# ${explainError(error)}\n${previous ? `# Below is the last result.\n${previous}` : ""}`;
    }
  }

  private refresh(): void {
    for (const { uri } of vscode.workspace.textDocuments.filter((document) => document.uri.scheme === SCHEME)) {
      const key = uri.toString();
      clearTimeout(this.timers.get(key));
      this.timers.set(
        key,
        setTimeout(() => this.changed.fire(uri), DELAY),
      );
    }
  }

  dispose(): void {
    this.timers.forEach(clearTimeout);
    this.subscriptions.forEach((one) => one.dispose());
  }
}

/** Returns null for all, undefined if the user chooses nothing. */
async function chooseVariant(variants: readonly string[]): Promise<string | null | undefined> {
  const all = { label: "all", description: `${variants.length} variants` };
  const chosen = await vscode.window.showQuickPick([all, ...variants.map((label) => ({ label }))], {
    placeHolder: "Environment or matrix instance to lower",
  });
  return chosen === undefined ? undefined : chosen === all ? null : chosen.label;
}

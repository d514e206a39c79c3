import * as vscode from "vscode";

import { mayBeJob } from "./kind";
import { PictureView } from "./picture";
import { PodsView } from "./pods";
import { offerSchemas } from "./schemas";
import { explainError, Server } from "./server";
import { Status } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  server = new Server();
  const running = server;
  const pods = new PodsView(running);
  const picture = new PictureView(running);
  const restart = () => void running.restart();
  context.subscriptions.push(
    new Status(running),
    pods,
    picture,
    vscode.commands.registerCommand("podplan.showPods", () => showFor((document) => pods.show(document))),
    vscode.commands.registerCommand("podplan.showPicture", () => showFor((document) => picture.show(document))),
    vscode.commands.registerCommand("podplan.restart", restart),
    vscode.commands.registerCommand("podplan.showOutput", () => running.output.show()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeWorkspaceFolders(restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("podplan.server") || change.affectsConfiguration("podplan.trace")) {
        restart();
      }
    }),
    vscode.window.onDidChangeActiveTextEditor(noteJob),
    vscode.workspace.onDidSaveTextDocument(() => noteJob(vscode.window.activeTextEditor)),
  );
  noteJob(vscode.window.activeTextEditor);
  await running.restart();
  context.subscriptions.push(offerSchemas(running));
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

async function showFor(show: (document: vscode.TextDocument) => Promise<void>): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) {
    return;
  }
  try {
    await show(document);
  } catch (error) {
    await vscode.window.showWarningMessage(`podplan: ${explainError(error)}`);
  }
}

/** The buttons above the editor are for jobs, not for every YAML file. */
function noteJob(editor: vscode.TextEditor | undefined): void {
  const document = editor?.document;
  const isJob = document?.languageId === "yaml" && mayBeJob(document.getText());
  void vscode.commands.executeCommand("setContext", "podplan.isJob", isJob);
}

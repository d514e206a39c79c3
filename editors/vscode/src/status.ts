// The status item: how many findings there are, or why the language server does not run.

import * as vscode from "vscode";

import type { Server } from "./server";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("podplan.status", vscode.StatusBarAlignment.Left, 10);
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.item.name = "podplan";
    this.subscriptions = [
      this.item,
      vscode.languages.onDidChangeDiagnostics(() => this.update()),
      server.onDidChangeState(() => this.update()),
    ];
    this.update();
    this.item.show();
  }

  private update(): void {
    const state = this.server.state;
    this.item.backgroundColor = undefined;
    this.item.command = "podplan.showOutput";
    if (state.name === "failed") {
      this.item.text = "$(warning) podplan";
      this.item.tooltip = state.reason;
      this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
      return;
    }
    if (state.name === "starting") {
      this.item.text = "$(loading~spin) podplan";
      this.item.tooltip = "podplan starts";
      return;
    }
    const counts = countFindings();
    const [errors, warnings, infos] = counts;
    this.item.text = `podplan $(error) ${errors} $(warning) ${warnings} $(info) ${infos}`;
    this.item.tooltip = `podplan: ${errors} errors, ${warnings} warnings and ${infos} infos in the files that podplan checks\n${state.program}`;
    this.item.accessibilityInformation = { label: `podplan: ${errors} errors, ${warnings} warnings, ${infos} infos` };
    this.item.command = "workbench.actions.view.problems";
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }
}

function countFindings(): [number, number, number] {
  const counts: [number, number, number] = [0, 0, 0];
  for (const [, diagnostics] of vscode.languages.getDiagnostics()) {
    for (const { source, severity } of diagnostics) {
      if (source === "podplan" && severity <= vscode.DiagnosticSeverity.Information) {
        counts[severity as 0 | 1 | 2] += 1;
      }
    }
  }
  return counts;
}

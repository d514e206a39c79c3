// Runs `podplan lsp` for the workspace, and restarts it if the settings or the trust of the workspace change.

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { LanguageClient, ResponseError, State, Trace } from "vscode-languageclient/node";

import { findProgram, ProgramNotFound, type Program } from "./program";

const METHOD_NOT_FOUND = -32601;

export type ServerState =
  | { readonly name: "starting" }
  | { readonly name: "running"; readonly program: string }
  | { readonly name: "failed"; readonly reason: string };

export class Server implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel("podplan");
  private readonly stateChanged = new vscode.EventEmitter<void>();
  private readonly started = new vscode.EventEmitter<void>();
  readonly onDidChangeState = this.stateChanged.event;
  readonly onDidStart = this.started.event;
  state: ServerState = { name: "starting" };
  program: Program | undefined;
  private client: LanguageClient | undefined;
  private last: Promise<void> = Promise.resolve();

  /** Restarts are queued, so that only one server runs. */
  restart(): Promise<void> {
    this.last = this.last.then(async () => {
      await this.stop();
      await this.start();
    });
    return this.last;
  }

  /** The response to a request about a file. Rejects if the server does not run, or has no result. */
  async request<Result>(method: string, uri: vscode.Uri, params: object): Promise<Result> {
    await this.last;
    if (!this.client?.isRunning()) {
      throw new Error(this.state.name === "failed" ? this.state.reason : "podplan lsp does not run");
    }
    return this.client.sendRequest<Result>(method, {
      textDocument: { uri: this.client.code2ProtocolConverter.asUri(uri) },
      ...params,
    });
  }

  /** The standard output of another command of the same program. */
  async run(...options: string[]): Promise<string> {
    await this.last;
    const program = this.program;
    if (!program) {
      throw new Error("podplan was not found");
    }
    return new Promise((resolve, reject) =>
      execFile(
        program.file,
        options,
        { env: environment(program), maxBuffer: 64 * 1024 * 1024, timeout: 60_000 },
        (error, stdout) => (error ? reject(error) : resolve(stdout)),
      ),
    );
  }

  private async start(): Promise<void> {
    this.setState({ name: "starting" });
    const configuration = vscode.workspace.getConfiguration("podplan");
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
    try {
      this.program = await findProgram({
        folders: folders.map(({ uri }) => uri.fsPath),
        trusted: vscode.workspace.isTrusted,
        setting: configuration.get("server.path", ""),
        path: process.env["PATH"] ?? process.env["Path"] ?? "",
        platform: process.platform,
      });
      await this.startClient(this.program, configuration, folders[0]);
    } catch (error) {
      const reason = error instanceof ProgramNotFound ? error.message : `podplan lsp does not start: ${String(error)}`;
      this.output.appendLine(reason);
      this.setState({ name: "failed", reason });
    }
  }

  private async startClient(
    program: Program,
    configuration: vscode.WorkspaceConfiguration,
    folder: vscode.WorkspaceFolder | undefined,
  ): Promise<void> {
    const args = ["lsp", ...configuration.get<string[]>("server.arguments", [])];
    this.output.appendLine(`${program.file} ${args.join(" ")}`);
    const client = new LanguageClient(
      "podplan",
      "podplan",
      {
        command: program.file,
        args,
        options: { env: environment(program), ...(folder ? { cwd: folder.uri.fsPath } : {}) },
      },
      {
        documentSelector: [{ scheme: "file", language: "yaml" }],
        outputChannel: this.output,
        diagnosticCollectionName: "podplan",
        synchronize: { fileEvents: this.watchers },
      },
    );
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      if (this.client === client && newState === State.Running) {
        this.setState({ name: "running", program: program.file });
        this.started.fire();
      } else if (this.client === client && newState === State.Stopped) {
        this.setState({ name: "failed", reason: "podplan lsp has stopped; the output says why" });
      }
    });
    await client.start();
    await client.setTrace(Trace.fromString(configuration.get("trace.server", "off")));
  }

  private readonly watchers = ["**/*.{yaml,yml}", "**/{podplan,.podplan,pyproject}.toml"].map((pattern) =>
    vscode.workspace.createFileSystemWatcher(pattern),
  );

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.program = undefined;
    if (client?.isRunning()) {
      await client.stop();
    }
    await client?.dispose();
  }

  private setState(state: ServerState): void {
    this.state = state;
    this.stateChanged.fire();
  }

  async dispose(): Promise<void> {
    await this.last;
    await this.stop();
    this.watchers.forEach((watcher) => watcher.dispose());
    this.output.dispose();
  }
}

function environment(program: Program): NodeJS.ProcessEnv {
  return { ...process.env, PATH: program.path };
}

export function explainError(error: unknown): string {
  if (error instanceof ResponseError && error.code === METHOD_NOT_FOUND) {
    return "this podplan is too old for that; upgrade it";
  }
  return error instanceof Error ? error.message : String(error);
}

// Offers podplan's JSON Schemas to the extension "YAML" of Red Hat, by the kind of each file and not by its name.

import * as vscode from "vscode";

import { createContributor, SCHEME } from "./contributor";
import type { Server } from "./server";

const YAML_EXTENSION = "redhat.vscode-yaml";

/** The part of that extension's API that is used; see its wiki page "Extension API". */
interface YamlApi {
  registerContributor(
    schema: string,
    requestSchema: (resource: string) => string | undefined,
    requestSchemaContent: (uri: string) => Promise<string>,
  ): boolean;
}

/** Offers the schemas as soon as the extension "YAML" is there: it may be installed or enabled later. */
export function offerSchemas(server: Server): vscode.Disposable {
  let offered = false;
  const offer = async () => {
    const extension = vscode.extensions.getExtension<YamlApi>(YAML_EXTENSION);
    const enabled = vscode.workspace.getConfiguration("podplan").get("schemas.enabled", true);
    if (extension && enabled && !offered) {
      offered = true;
      register(await extension.activate(), server);
    }
  };
  void offer();
  return vscode.extensions.onDidChange(offer);
}

function register(api: YamlApi, server: Server): void {
  const contributor = createContributor(
    (resource) => vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === resource)?.getText(),
    () => server.program !== undefined,
    (name) => server.run("schema", "show", name, "--editors"),
  );
  server.onDidStart(() => contributor.clear());
  api.registerContributor(SCHEME, contributor.requestSchema, contributor.requestSchemaContent);
}

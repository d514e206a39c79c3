// Writes the schema of each open YAML file to `<file>.schema.json`, as the extension YAML would use it.

const fs = require("node:fs");
const vscode = require("vscode");

exports.activate = () => ({
  registerContributor(scheme, requestSchema, requestSchemaContent) {
    const ask = async ({ uri, languageId }) => {
      const schema = languageId === "yaml" && uri.scheme === "file" && requestSchema(uri.toString());
      if (schema && schema.startsWith(`${scheme}:`)) {
        fs.writeFileSync(`${uri.fsPath}.schema.json`, await requestSchemaContent(schema));
      }
    };
    vscode.workspace.textDocuments.forEach(ask);
    vscode.workspace.onDidOpenTextDocument(ask);
    return true;
  },
});

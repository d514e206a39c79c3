// What needs no VS Code: which program is started, and which files are jobs.

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";

import { createContributor } from "../src/contributor";
import { findSchemaName, mayBeJob } from "../src/kind";
import { findProgram, ProgramNotFound, type Surroundings } from "../src/program";

describe("the program", () => {
  let home = "";
  let inVenv = "";
  let onPath = "";
  const ask = (more: Partial<Surroundings>) =>
    findProgram({
      folders: [path.join(home, "work")],
      trusted: true,
      setting: "",
      path: path.join(home, "bin"),
      platform: "linux",
      ...more,
    });

  before(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), "podplan-program-"));
    inVenv = await install("work/.venv/bin");
    onPath = await install("bin");
  });
  after(() => rm(home, { recursive: true }));

  async function install(folder: string): Promise<string> {
    const file = path.join(home, folder, "podplan");
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, "#!/bin/sh\n", { mode: 0o755 });
    return file;
  }

  test("is that of the virtual environment, before PATH", async () => {
    assert.equal((await ask({})).file, inVenv);
  });

  test("is the first on PATH without a virtual environment", async () => {
    await mkdir(path.join(home, "other"), { recursive: true });
    assert.equal((await ask({ folders: [path.join(home, "other")] })).file, onPath);
    assert.equal((await ask({ folders: [] })).file, onPath);
  });

  test("is that of the setting, relative to the folder, and no other", async () => {
    assert.equal((await ask({ setting: onPath })).file, onPath);
    assert.equal((await ask({ setting: ".venv/bin/podplan" })).file, inVenv);
    await assert.rejects(ask({ setting: "nowhere/podplan" }), ProgramNotFound);
  });

  test("is a file that can be executed", async () => {
    await chmod(inVenv, 0o644);
    assert.equal((await ask({})).file, onPath);
    await chmod(inVenv, 0o755);
  });

  test("is none of an untrusted workspace: not by .venv, setting, PATH or a link", async () => {
    const untrusted = { trusted: false };
    assert.equal((await ask(untrusted)).file, onPath);
    await assert.rejects(ask({ ...untrusted, setting: ".venv/bin/podplan" }), ProgramNotFound);
    await assert.rejects(ask({ ...untrusted, setting: inVenv }), ProgramNotFound);
    await assert.rejects(ask({ ...untrusted, path: path.dirname(inVenv) }), ProgramNotFound);
    await symlink(path.join(home, "work", ".venv"), path.join(home, "linked"));
    await assert.rejects(ask({ ...untrusted, path: path.join(home, "linked", "bin") }), ProgramNotFound);
    await mkdir(path.join(home, "links"));
    await symlink(inVenv, path.join(home, "links", "podplan"));
    await assert.rejects(ask({ ...untrusted, path: path.join(home, "links") }), ProgramNotFound);
    await symlink(onPath, path.join(home, "work", "podplan"));
    await assert.rejects(ask({ ...untrusted, setting: "podplan" }), ProgramNotFound);
  });

  test("gets a PATH without relative folders, and without those of an untrusted workspace", async () => {
    const search = [path.dirname(inVenv), "", ".", "bin", path.dirname(onPath)].join(":");
    assert.equal((await ask({ path: search })).path, `${path.dirname(inVenv)}:${path.dirname(onPath)}`);
    assert.equal((await ask({ path: search, trusted: false })).path, path.dirname(onPath));
  });
});

describe("the kind of a file", () => {
  const profile = "apiVersion: podplan/v1\nkind: JobProfile\n";
  const job = 'kind: "PyTorchJob" # v1\napiVersion: kubeflow.org/v1\n';

  test("decides about the buttons", () => {
    assert.ok(mayBeJob(profile));
    assert.ok(mayBeJob("apiVersion: podplan/v1\nkind: JobProfileBase\n"));
    assert.ok(mayBeJob(`# a list\n---\napiVersion: v1\nkind: Secret\n---\n${job}`));
    assert.ok(!mayBeJob("apiVersion: podplan/v1\nkind: ClusterInventory\n"));
    assert.ok(!mayBeJob("apiVersion: v1\nkind: Service\n"));
    assert.ok(!mayBeJob("spec:\n  apiVersion: batch/v1\n  kind: Job\n"));
  });

  test("decides about the schema, unless a modeline or another document does", () => {
    assert.equal(findSchemaName(profile), "JobProfile");
    assert.equal(findSchemaName(`${job}---\n${job}`), "kubeflow.org/v1/PyTorchJob");
    assert.equal(findSchemaName("apiVersion: podplan/v1\nkind: ClusterInventory\n"), "ClusterInventory");
    assert.equal(findSchemaName(`# yaml-language-server: $schema=x.json\n${profile}`), undefined);
    assert.equal(findSchemaName(`${profile}---\n${job}`), undefined);
    assert.equal(findSchemaName("apiVersion: podplan/v1\nkind: JobProfileBase\n"), undefined);
    assert.equal(findSchemaName("apiVersion: v1\nkind: Service\n"), undefined);
    assert.equal(findSchemaName("a: b\n"), undefined);
  });
});

describe("the schemas for the extension YAML", () => {
  const job = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n";
  const URI = "podplan-schema:/kubeflow.org/v1/PyTorchJob";

  test("are offered only while a podplan can print them", async () => {
    let running = false;
    const asked: string[] = [];
    const contributor = createContributor(
      () => job,
      () => running,
      (name) => {
        asked.push(name);
        return Promise.resolve('{"title": "PyTorchJob"}');
      },
    );
    assert.equal(contributor.requestSchema("file:///a.yaml"), undefined);
    running = true;
    assert.equal(contributor.requestSchema("file:///a.yaml"), URI);
    assert.equal(await contributor.requestSchemaContent(URI), '{"title": "PyTorchJob"}');
    await contributor.requestSchemaContent(URI.replaceAll("/kubeflow", "/%6bubeflow"));
    assert.deepEqual(asked, ["kubeflow.org/v1/PyTorchJob"]);
    contributor.clear();
    await contributor.requestSchemaContent(URI);
    assert.equal(asked.length, 2);
  });

  test("accept everything for a kind without one, and none is offered for a file that is not open", async () => {
    const contributor = createContributor(
      () => undefined,
      () => true,
      () => Promise.reject(new Error("there is no schema")),
    );
    assert.equal(contributor.requestSchema("file:///a.yaml"), undefined);
    assert.equal(await contributor.requestSchemaContent(URI), "{}");
  });
});
